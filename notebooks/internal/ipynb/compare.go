package ipynb

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Compare lists what is wrong with a notebook's fresh outputs, compared with the committed ones: a
// cell that fails, numbers beyond the tolerance, other text, pictures that are missing or blank,
// outputs that the committed notebook lacks. It returns an error if the notebook's settings are
// invalid.
func Compare(committed, fresh *Notebook) ([]string, error) {
	settings, err := defaultSettings().Override(committed.Metadata)
	if err != nil {
		return nil, err
	}
	if len(committed.Cells) != len(fresh.Cells) {
		return []string{fmt.Sprintf("want %d cells, got %d", len(committed.Cells), len(fresh.Cells))}, nil
	}
	var problems []string
	for i, want := range committed.Cells {
		if failure := fresh.Cells[i].Failure(); failure != "" {
			// Later cells may fail only because this one did.
			return append(problems, fmt.Sprintf("cell %d: fails: %s", i+1, failure)), nil
		}
		s, err := settings.Override(want.Metadata)
		if err != nil {
			return nil, fmt.Errorf("cell %d: %w", i+1, err)
		}
		for _, problem := range compareCell(want, fresh.Cells[i], s) {
			problems = append(problems, fmt.Sprintf("cell %d: %s", i+1, problem))
		}
	}
	return problems, nil
}

// Failure returns the message of a cell that failed, on one line, or "".
func (c Cell) Failure() string {
	for _, o := range c.Outputs {
		if o.Type == OutputError {
			return strings.Join(strings.Fields(o.ErrorName+": "+o.ErrorValue), " ")
		}
	}
	return ""
}

func compareCell(committed, fresh Cell, s Settings) []string {
	if committed.Type != fresh.Type || committed.Source != fresh.Source {
		return []string{"want the committed source, got another"}
	}
	if committed.Type != CellCode {
		return nil
	}
	if strings.TrimSpace(string(committed.Source)) != "" && (committed.ExecutionCount == nil || string(committed.ExecutionCount) == "null") {
		return []string{"is committed without having been run"}
	}
	var problems []string
	for _, name := range []string{"stdout", "stderr"} {
		if problem := compareVolatile(committed.stream(name), fresh.stream(name), s); problem != "" {
			problems = append(problems, name+": "+problem)
		}
	}
	want, got := committed.displays(), fresh.displays()
	if len(want) != len(got) {
		return append(problems, fmt.Sprintf("want %d displayed outputs, got %d", len(want), len(got)))
	}
	for i := range want {
		problems = append(problems, compareData(want[i].Data, got[i].Data, s)...)
	}
	return problems
}

// stream returns everything that a cell wrote to stdout or stderr, in one text. Jupyter receives
// the two streams and displayed outputs separately, so their order means nothing.
func (c Cell) stream(name string) string {
	var text strings.Builder
	for _, o := range c.Outputs {
		if o.Type == OutputStream && o.Name == name {
			text.WriteString(string(o.Text))
		}
	}
	return text.String()
}

// displays returns a cell's outputs other than streams.
func (c Cell) displays() []Output {
	return slices.DeleteFunc(slices.Clone(c.Outputs), func(o Output) bool { return o.Type == OutputStream })
}

// compareVolatile compares texts; for a volatile cell it only requires that both or neither
// are empty.
func compareVolatile(committed, fresh string, s Settings) string {
	if !s.Volatile.All {
		return compareText(committed, fresh, s)
	}
	if (strings.TrimSpace(committed) == "") != (strings.TrimSpace(fresh) == "") {
		return fmt.Sprintf("want the text %q or other, got %q", near(committed, 0), near(fresh, 0))
	}
	return ""
}

// compareData compares the forms of one displayed output.
func compareData(committed, fresh Bundle, s Settings) []string {
	var problems []string
	for _, mime := range slices.Sorted(maps.Keys(committed)) {
		value, there := fresh[mime]
		switch {
		case !there:
			problems = append(problems, fmt.Sprintf("want an output %s, got none", mime))
		case mime == mimePNG:
			if problem := checkPicture(string(value)); problem != "" {
				problems = append(problems, "its picture "+problem)
			}
		default:
			if problem := compareVolatile(string(committed[mime]), string(value), s); problem != "" {
				problems = append(problems, fmt.Sprintf("%s: %s", mime, problem))
			}
		}
	}
	for _, mime := range slices.Sorted(maps.Keys(fresh)) {
		if _, there := committed[mime]; !there {
			problems = append(problems, fmt.Sprintf("has an output %s that is not committed", mime))
		}
	}
	return problems
}
