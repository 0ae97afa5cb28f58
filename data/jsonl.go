package data

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

const (
	jsonlBuffer  = 1 << 20 // bytes read at a time
	jsonlMaxLine = 1 << 30 // bytes of the longest line accepted
)

// readJSONL emits a document for each line of a file of JSON objects: the text
// of one field. Blank lines are passed over, as are empty texts.
func readJSONL(f file, field string, enc *encoder, emit func(document) error) error {
	return withText(f.disk, func(r io.Reader) error {
		lines := bufio.NewScanner(r)
		lines.Buffer(make([]byte, jsonlBuffer), jsonlMaxLine)
		number := 0
		for lines.Scan() {
			number++
			if len(bytes.TrimSpace(lines.Bytes())) == 0 {
				continue
			}
			text, err := jsonText(lines.Bytes(), field)
			if err != nil {
				return errors.Wrapf(err, "%s:%d", f.disk, number)
			}
			if text == "" {
				continue
			}
			if err := emit(enc.document(fmt.Sprintf("%s:%d", f.name, number), text)); err != nil {
				return err
			}
		}
		return errors.Wrapf(lines.Err(), "%s:%d", f.disk, number+1)
	})
}

// jsonText returns the string in a field of a JSON object.
func jsonText(line []byte, field string) (string, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(line, &object); err != nil {
		return "", errors.Wrap(err, "invalid JSON: want one object a line")
	}
	value, ok := object[field]
	if !ok {
		have := slices.Sorted(maps.Keys(object))
		return "", errors.Errorf("want the text in field %q, got an object with the fields [%s]: set data.text_field",
			field, strings.Join(have, ", "))
	}
	// A pointer, to tell null from "".
	var text *string
	if err := json.Unmarshal(value, &text); err != nil || text == nil {
		return "", errors.Errorf("field %q: want a string, got %.40s", field, value)
	}
	return *text, nil
}
