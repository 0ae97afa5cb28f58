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
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	err := e.Encode(lines(string(t)))
	return text.Bytes(), err
}

func lines(text string) []string {
	return slices.AppendSeq([]string{}, strings.Lines(text))
}

// isText tells whether a MIME type's value is text for a reader, which files hold as lines.
func isText(mime string) bool {
	return strings.HasPrefix(mime, "text/") || mime == "image/svg+xml" || mime == "application/javascript"
}

// joinLines makes strings of the lists of lines in a MIME bundle.
func joinLines(data map[string]any) {
	for mime, value := range data {
		if parts, ok := value.([]any); ok && mime != "application/json" {
			var text strings.Builder
			for _, part := range parts {
				line, _ := part.(string)
				text.WriteString(line)
			}
			data[mime] = text.String()
		}
	}
}

// splitLines returns a bundle with texts as lists of lines.
func splitLines(data map[string]any) map[string]any {
	if data == nil {
		return nil
	}
	split := map[string]any{}
	for mime, value := range data {
		if text, ok := value.(string); ok && isText(mime) {
			split[mime] = lines(text)
			continue
		}
		split[mime] = value
	}
	return split
}
