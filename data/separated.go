package data

import (
	"bufio"
	"bytes"
	"io"
	"strings"

	"github.com/pkg/errors"
)

// separated reads text in which a separator ends each document; the last one needs none. use is
// called with each document, without the line breaks at its ends, and its number; empty documents
// are counted but skipped.
func (d diskReader) separated(in io.Reader, disk, separator string, use func(number int, text string) error) error {
	most := d.longestLine()
	documents := bufio.NewScanner(in)
	documents.Buffer(make([]byte, 0, min(jsonlBuffer, most)), int(most)+len(separator))
	documents.Split(cutAt(separator))
	number := 0
	for documents.Scan() {
		number++
		if text := strings.Trim(documents.Text(), "\r\n"); text != "" {
			if err := use(number, text); err != nil {
				return err
			}
		}
	}
	err := documents.Err()
	if err == bufio.ErrTooLong {
		err = errLongDocument(most)
	}
	return errors.Wrapf(err, "%s: document %d", disk, number+1)
}

// cutAt returns a function by which a bufio.Scanner cuts text at a separator. It looks at each byte
// once, however often more is read.
func cutAt(separator string) bufio.SplitFunc {
	looked := 0 // no separator begins before this index
	return func(text []byte, atEnd bool) (advance int, token []byte, err error) {
		if i := bytes.Index(text[looked:], []byte(separator)); i >= 0 {
			end := looked + i
			looked = 0
			return end + len(separator), text[:end], nil
		}
		if atEnd {
			if len(text) == 0 {
				return 0, nil, nil
			}
			looked = 0
			return len(text), text, nil
		}
		looked = max(0, len(text)-len(separator)+1)
		return 0, nil, nil
	}
}
