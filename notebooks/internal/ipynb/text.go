package ipynb

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// Text is text that a notebook file holds as a string or as a list of lines.
type Text string

// UnmarshalJSON reads either form.
func (t *Text) UnmarshalJSON(raw []byte) error {
	var lines []string
	if err := json.Unmarshal(raw, &lines); err == nil {
		*t = Text(strings.Join(lines, ""))
		return nil
	}
	var whole string
	if err := json.Unmarshal(raw, &whole); err != nil {
		return errors.New("want text as a string or a list of lines")
	}
	*t = Text(whole)
	return nil
}

// MarshalJSON writes a list of lines with their line feeds.
func (t Text) MarshalJSON() ([]byte, error) {
	return encoded(slices.AppendSeq([]string{}, strings.Lines(string(t))), "")
}

// Bundle is what an output displays, by MIME type.
type Bundle map[string]Text

// MarshalJSON writes pictures in base64 as strings, text as lists of lines.
func (b Bundle) MarshalJSON() ([]byte, error) {
	forms := map[string]any{}
	for mime, text := range b {
		forms[mime] = text
		if mime == mimePNG {
			forms[mime] = string(text)
		}
	}
	return encoded(forms, "")
}

// encoded returns a value as JSON that does not escape HTML.
func encoded(value any, indent string) ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	err := e.Encode(value)
	return text.Bytes(), errors.Wrap(err, "notebook")
}
