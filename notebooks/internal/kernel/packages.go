package kernel

import (
	_ "embed"
	"regexp"
)

//go:embed packages.txt
var packageList string

// Packages returns the packages that notebooks can import.
func Packages() []string {
	return regexp.MustCompile(`(?m)^[^#\s].*$`).FindAllString(packageList, -1)
}
