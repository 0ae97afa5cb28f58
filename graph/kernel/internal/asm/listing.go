package asm

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Names maps words of a listing to what they stand for: text, a number, or a function of the
// number at the end of the word, such as 2 in acc2.
type Names map[string]any

var word = regexp.MustCompile(`\b([a-z][A-Za-z]*)(\d*)\b`)

// List writes the lines of a listing, an instruction or a label in each, with its names replaced.
func (w *Writer) List(listing string, names Names) {
	for line := range strings.Lines(listing) {
		line, _, _ = strings.Cut(line, "//")
		line = word.ReplaceAllStringFunc(strings.TrimSpace(line), names.replace)
		switch label, ok := strings.CutSuffix(line, ":"); {
		case ok:
			w.Label(label)
		case line != "":
			w.Op(line)
		}
	}
}

// replace returns what a word of a listing stands for: the value of its name, or, for a name with a
// number, what the name's function returns for that number.
func (n Names) replace(text string) string {
	if _, numbered := n[text].(func(int) string); !numbered && n[text] != nil {
		return fmt.Sprint(n[text])
	}
	parts := word.FindStringSubmatch(text)
	value, ok := n[parts[1]].(func(int) string)
	if !ok {
		return text
	}
	i, _ := strconv.Atoi(parts[2])
	return value(i)
}
