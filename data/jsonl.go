package data

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/regular"
)

const (
	jsonlBuffer  = 1 << 20 // bytes read at a time
	jsonlMaxLine = 1 << 30 // bytes of the longest line accepted
)

// EachLine reads a text file line by line, decompressed if its name ends in .gz or .zst, and skips
// blank lines. number counts all lines from 1; line is valid until use returns. An error of the
// file or of use names the file and the line. A byte order mark at the start of a line is removed.
func EachLine(ctx context.Context, path string, use func(number int, line []byte) error) error {
	d := diskReader{}
	return d.open(ctx, path, func(in *bufio.Reader) error { return d.eachLine(in, path, use) })
}

func (d diskReader) eachLine(in io.Reader, path string, use func(number int, line []byte) error) error {
	lines := lineReader{in: bufio.NewReaderSize(in, jsonlBuffer), most: d.longestLine()}
	for number := 1; ; number++ {
		line, err := lines.next()
		if err == io.EOF {
			return nil
		}
		line = bytes.TrimPrefix(line, []byte(regular.ByteOrderMark)) // where files were joined
		if err == nil && len(bytes.TrimSpace(line)) > 0 {
			err = use(number, line)
		}
		if err != nil {
			return errors.Wrapf(err, "%s:%d", path, number)
		}
	}
}

// eachObject is like eachLine for lines that are JSON objects.
func (d diskReader) eachObject(in io.Reader, path string, use func(number int, object map[string]json.RawMessage) error) error {
	return d.eachLine(in, path, func(number int, line []byte) error {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(line, &object); err != nil {
			return errors.Wrap(err, "invalid JSON: want one object a line")
		}
		return use(number, object)
	})
}

// longestLine returns the bytes of the longest line that is accepted.
func (d diskReader) longestLine() int64 {
	if d.longest > 0 {
		return min(d.longest, jsonlMaxLine)
	}
	return jsonlMaxLine
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
