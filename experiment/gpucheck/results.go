package gpucheck

import (
	"fmt"
	"io"
	"strings"

	"github.com/pkg/errors"
)

// WriteResults prints the results of one part that has left output in the folder or, if name is "",
// the figures of all parts. Output of more than most characters is shortened in the middle, since
// some machines keep only the end of what was printed.
func WriteResults(dir, name string, most int, out io.Writer) error {
	parts, err := readParts(dir)
	if err != nil {
		return err
	}
	text := ""
	for _, p := range parts {
		if name == "" {
			text += p.summary()
		} else if p.name == name {
			text = p.summary() + p.section()
		}
	}
	if text == "" && name != "" {
		return errors.Errorf("%s: want a part that has run, got %q", dir, name)
	}
	_, err = io.WriteString(out, shortened(text, most))
	return errors.WithStack(err)
}

// summary returns the part's outcome and figures.
func (p part) summary() string {
	text := fmt.Sprintf("%s: %s, %d s\n", p.name, p.result(), p.seconds)
	for _, f := range p.figures {
		text += "  " + f + "\n"
	}
	return text
}

// shortened keeps two thirds of most from the beginning of a text and the rest from its end, cut at
// line breaks if the lines are not too long.
func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	note := fmt.Sprintf("[... of %d characters, some are left out here ...]\n", len(text))
	room := max(0, most-len(note)-2) // minus the ends of two lines
	head, tail := text[:room*2/3], text[len(text)-room/3:]
	if i := strings.LastIndexByte(head, '\n'); i > len(head)/2 {
		head = head[:i]
	}
	if i := strings.IndexByte(tail, '\n'); i < len(tail)/2 {
		tail = tail[i+1:]
	}
	return strings.ToValidUTF8(head+"\n"+note+tail, "")
}
