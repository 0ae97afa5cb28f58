// Package gpucheck checks the CUDA backend on a GPU machine without Go. The script run.sh
// calls the programs that `make gpu-check` has packed. One of them uses this package to
// compare runs and to write the report.
package gpucheck

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// A report's folder holds what run.sh has collected:
//
//	machine.txt   what it ran on
//	parts.txt     a line a part that has ended: its name, exit status, seconds
//	PART.log      its output: a line "figure: ..." goes into the table, what lies between
//	              two lines of fence is copied, the cases of a test program are counted

// fence begins and ends a block to copy from a log.
const fence = "```"

// WriteReport writes report.md to the folder and prints the outcome of the check.
func WriteReport(dir string, out io.Writer) error {
	parts, err := readParts(dir)
	if err != nil {
		return err
	}
	machine, err := readLines(filepath.Join(dir, "machine.txt"))
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "report.md")
	if err := os.WriteFile(path, []byte(markdown(machine, parts)), 0o644); err != nil {
		return errors.WithStack(err)
	}
	var bad, left []string
	for _, p := range parts {
		if p.bad() {
			bad = append(bad, p.name)
		}
		if p.result() == "not run" {
			left = append(left, p.name)
		}
	}
	verdict := "no part has failed"
	if len(bad) > 0 {
		verdict = "failed: " + strings.Join(bad, ", ")
	}
	if len(left) > 0 {
		verdict += "; not run, for want of time: " + strings.Join(left, ", ")
	}
	_, err = fmt.Fprintf(out, "%s: %s\n", path, verdict)
	return errors.WithStack(err)
}

// WriteResults prints what the report has of one part or, if name is "", the figures of all.
func WriteResults(dir, name string, out io.Writer) error {
	parts, err := readParts(dir)
	if err != nil {
		return err
	}
	text := ""
	for _, p := range parts {
		if name == "" || name == p.name {
			text += fmt.Sprintf("%s: %s, %d s\n", p.name, p.result(), p.seconds)
			for _, f := range p.figures {
				text += "  " + f + "\n"
			}
		}
		if name == p.name {
			text += p.section()
		}
	}
	if text == "" && name != "" {
		return errors.Errorf("%s: want a part that has run, got %q", dir, name)
	}
	_, err = io.WriteString(out, text)
	return errors.WithStack(err)
}

// markdown returns the report: the machine, a table, and a section for each part that has details.
func markdown(machine []string, parts []part) string {
	var text strings.Builder
	fmt.Fprintf(&text, "# GPU check\n\n%s\n%s\n%s\n\n", fence, strings.Join(machine, "\n"), fence)
	text.WriteString("| part | result | seconds | figures |\n|---|---|---|---|\n")
	for _, p := range parts {
		cell := strings.ReplaceAll(strings.Join(p.figures, "<br>"), "|", "\\|")
		fmt.Fprintf(&text, "| %s | %s | %d | %s |\n", p.name, p.result(), p.seconds, cell)
	}
	for _, p := range parts {
		text.WriteString(p.section())
	}
	return text.String()
}

// section returns a part's blocks and, if it failed, what failed.
func (p part) section() string {
	if len(p.blocks) == 0 && !p.bad() {
		return ""
	}
	text := fmt.Sprintf("\n## %s\n", p.name)
	for _, test := range p.failed {
		text += "- failed: " + test + "\n"
	}
	blocks := p.blocks
	if p.bad() {
		blocks = append(slices.Clone(blocks), "the end of "+p.name+".log:\n\n"+strings.Join(p.tail, "\n"))
	}
	for _, b := range blocks {
		text += "\n" + fence + "\n" + strings.ReplaceAll(b, fence, "'''") + "\n" + fence + "\n"
	}
	return text
}
