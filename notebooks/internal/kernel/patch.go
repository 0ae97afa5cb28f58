package kernel

import (
	_ "embed"
	"strings"

	"github.com/pkg/errors"
)

// gophernotesDiff makes gophernotes start with Go 1.26, work in checked notebooks, say
// where a cell failed, stop a cell and keep its variables, and answer an editor's requests. The
// functions that it calls are in _overlay.
//
//go:embed gophernotes.diff
var gophernotesDiff string

// gomacroDiff makes gomacro record where code fails, and check for an interrupt after each of a
// loop's first thousand statements instead of after every fifteenth, so that in a loop over slow
// functions an interrupt does not wait for fourteen more calls. Later statements of a loop run as
// fast as before. The functions that it calls are in _fast.
//
// It also lets interpreted code use compiled types that refer to themselves, such as
// []*gorgonia.Node. While gomacro describes Node, it treats pointers to it, and slices and maps of
// it, as unknown (xreflect.Forward), although reflection knows them exactly.
//
//go:embed gomacro.diff
var gomacroDiff string

// applyDiff changes files by a unified diff without line numbers: after "--- FILE", each "@@ WHY"
// begins lines that occur in the file exactly once.
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
