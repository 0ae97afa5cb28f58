// Command notice prints NOTICE: the names and licences of everything that is linked into the
// programs of cmd/ and of make gpu-check, read from the module cache. With -texts, as for the
// archives of a release, the licences' texts follow. `make notice` writes the file, `make lint`
// compares it.
package main

import (
	_ "embed"
	"flag"
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
	texts := flag.Bool("texts", false, "also print the licences' texts, each once")
	flag.Parse()
	found, err := licences()
	if err == nil {
		err = write(os.Stdout, found, *texts)
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

// write writes the names with the SPDX identifiers of their licences. With texts, a number stands
// for each text, and each text follows once.
func write(out io.Writer, licences map[string][]string, withTexts bool) error {
	fmt.Fprintln(out, head)
	var texts strings.Builder
	numbers := map[string]int{} // numbers of the texts, by their words
	for _, work := range slices.Sorted(maps.Keys(licences)) {
		if len(licences[work]) == 0 {
			return errors.Errorf("%s: want a file LICENSE in its folder, found none that internal/notice knows", work)
		}
		var all []string
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
			all = append(all, identifiers(text)...)
			if withTexts {
				all = append(all, fmt.Sprintf("[%d]", numbers[words]))
			}
		}
		if !withTexts {
			all = slices.Compact(slices.Sorted(slices.Values(all)))
		}
		fmt.Fprintf(out, "%s: %s\n", work, strings.Join(all, " "))
	}
	if !withTexts {
		return nil
	}
	_, err := io.WriteString(out, texts.String())
	return err
}

// identifiers returns the SPDX identifiers of a text's licences.
func identifiers(text []byte) (names []string) {
	for _, m := range licensecheck.Scan(text).Match {
		if !m.IsURL && !slices.Contains(names, m.ID) {
			names = append(names, m.ID)
		}
	}
	return names
}
