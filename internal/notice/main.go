// Command notice prints NOTICE: the licences of everything that is linked into the programs of cmd/
// and of make gpu-check, read from the module cache. `make notice` writes the file, `make lint`
// compares it.
package main

import (
	_ "embed"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/google/licensecheck"
	"github.com/pkg/errors"
)

func main() {
	found, err := licences()
	if err == nil {
		err = write(os.Stdout, found)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// head is the beginning of NOTICE, written by hand.
//
//go:embed head.txt
var head string

// write writes the names with the SPDX identifiers of their licences, then each licence text once.
func write(out io.Writer, licences map[string][]string) error {
	fmt.Fprintln(out, head)
	var texts strings.Builder
	numbers := map[string]int{} // numbers of the texts, by their words
	for _, work := range slices.Sorted(maps.Keys(licences)) {
		fmt.Fprintf(out, "%s:", work)
		if len(licences[work]) == 0 {
			return errors.Errorf("%s: want a file LICENSE in its folder, found none that internal/notice knows", work)
		}
		for _, file := range licences[work] {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			words := strings.Join(strings.Fields(string(text)), " ")
			if numbers[words] == 0 {
				numbers[words] = len(numbers) + 1
				fmt.Fprintf(&texts, "\n[%d] %s\n\n%s\n", numbers[words], strings.Repeat("=", 74), text)
			}
			fmt.Fprintf(out, " %s[%d]", identifiers(text), numbers[words])
		}
		fmt.Fprintln(out)
	}
	_, err := io.WriteString(out, texts.String())
	return err
}

// identifiers returns the identifiers of a text's licences, each followed by a space.
func identifiers(text []byte) string {
	var names string
	for _, m := range licensecheck.Scan(text).Match {
		if !m.IsURL && !strings.Contains(names, m.ID+" ") {
			names += m.ID + " "
		}
	}
	return names
}
