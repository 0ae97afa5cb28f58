package kernel

import (
	_ "embed"
	"strings"

	"github.com/pkg/errors"
)

// gophernotesDiff makes gophernotes start on Go 1.26, behave in notebooks that are checked, tell where a cell has
// failed, stop a cell and keep its variables, and answer what an editor asks. The functions that it calls stand in
// _overlay.
//
//go:embed gophernotes.diff
var gophernotesDiff string

// gomacroDiff makes gomacro remember where code fails, and look for an interrupt after each of a loop's first thousand
// statements, not after every fifteenth: where these call long functions, it shall not make fourteen more such calls.
// Loops that have come further run as fast as ever. The functions that it calls stand in _fast.
//
// It also lets interpreted code use compiled types that refer to themselves, such as []*gorgonia.Node: while it
// describes Node, gomacro takes pointers to it, slices and maps of it for unknown (xreflect.Forward), though reflection
// knows them exactly.
//
//go:embed gomacro.diff
var gomacroDiff string

// applyDiff changes files by a unified diff whose headers have no numbers: after "--- FILE", each "@@ WHY" begins lines
// that stand in the file exactly once.
func applyDiff(files map[string]string, diff string) error {
	for section := range strings.SplitSeq("\n"+diff, "\n--- ") {
		hunks := strings.Split(section, "\n@@ ")
		file := hunks[0]
		for _, hunk := range hunks[1:] {
			why, lines, _ := strings.Cut(hunk, "\n")
			var before, after string
			for line := range strings.Lines(lines + "\n") {
				if line[0] != '+' {
					before += line[1:]
				}
				if line[0] != '-' {
					after += line[1:]
				}
			}
			if n := strings.Count(files[file], before); n != 1 {
				return errors.Errorf("%s: want %q once, found it %d times; adapt the .diff in notebooks/internal/kernel (%s)", file, strings.TrimSpace(before), n, why)
			}
			files[file] = strings.Replace(files[file], before, after, 1)
		}
	}
	return nil
}
