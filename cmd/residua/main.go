// Command residua trains language models with many kinds of residual streams, generates with them,
// measures and analyses them.
package main

import (
	"os"

	"github.com/residua-go/residua/cli"
	"github.com/residua-go/residua/models"
)

func main() {
	os.Exit(cli.Main(models.Standard(), os.Args[1:], os.Stdout, os.Stderr))
}
