package data

import (
	"bufio"
	"bytes"
	"context"
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

// readJSONL emits a document for each line of a file of JSON objects: the text of one field. It
// skips blank lines and empty texts.
func readJSONL(ctx context.Context, f File, field string, disk diskReader, enc *Encoder, emit func(Document) error) error {
	return disk.eachLine(ctx, f.Disk, func(number int, line []byte) error {
		text, err := jsonText(line, field)
		if err != nil || text == "" {
			return err
		}
		return emit(enc.Document(fmt.Sprintf("%s:%d", f.Name, number), text))
	})
}

// EachLine reads a text file line by line, decompressed if its name ends in .gz or .zst, and skips
// blank lines. number counts all lines from 1; line is valid until use returns. An error of the
// file or of use names the file and the line.
func EachLine(ctx context.Context, path string, use func(number int, line []byte) error) error {
	return diskReader{}.eachLine(ctx, path, use)
}

func (d diskReader) eachLine(ctx context.Context, path string, use func(number int, line []byte) error) error {
	return d.open(ctx, path, func(r io.Reader) error {
		lines := lineReader{in: bufio.NewReaderSize(r, jsonlBuffer), most: jsonlMaxLine}
		if d.longest > 0 {
			lines.most = min(d.longest, jsonlMaxLine)
		}
		for number := 1; ; number++ {
			line, err := lines.next()
			if err == io.EOF {
				return nil
			}
			if err == nil && len(bytes.TrimSpace(line)) > 0 {
				err = use(number, line)
			}
			if err != nil {
				return errors.Wrapf(err, "%s:%d", path, number)
			}
		}
	})
}

// lineReader splits text into lines. The time for a line is proportional to its length, however
// small the pieces in which it arrives.
type lineReader struct {
	in   *bufio.Reader
	most int64  // bytes of the longest line accepted
	line []byte // scratch
}

// next returns the next line, which is valid until the next call, or io.EOF after the last line.
func (l *lineReader) next() ([]byte, error) {
	l.line = l.line[:0]
	for {
		piece, err := l.in.ReadSlice('\n')
		l.line = append(l.line, piece...)
		switch {
		case int64(len(l.line)) > l.most:
			return nil, errors.Errorf("want lines of at most %d bytes, got a longer one", l.most)
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && len(l.line) > 0:
			return l.line, nil
		}
		return l.line, err
	}
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
		return "", errors.Errorf("want the text in field %q, got an object with the fields [%s]: name it in data.text_field, or by -text-field",
			field, strings.Join(have, ", "))
	}
	// A pointer, to distinguish null from "".
	var text *string
	if err := json.Unmarshal(value, &text); err != nil || text == nil {
		return "", errors.Errorf("field %q: want a string, got %.40s", field, value)
	}
	return *text, nil
}
