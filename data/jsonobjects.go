package data

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"

	"github.com/pkg/errors"
)

// lineExtensions lists the extensions of files that have a JSON object on each line.
func lineExtensions() []string { return []string{".jsonl", ".ndjson", ".jsonlines"} }

// jsonSniffer tells two kinds of JSON files apart: objects that have a text each, and JSON that is
// itself the text.
type jsonSniffer struct {
	field string // the field of the text
	json  bool   // the file's extension is .json
	named bool   // it was not merely found in a folder, which may hold JSON of all kinds
	most  int    // bytes that are looked at
}

// sniff reports whether a file contains objects to read the texts of. The reader that it returns is
// at the start of the file.
//
// These objects stand in an array or one after another, and the first has a string in the field. If
// the extension is .json, it also accepts a single object, and objects without the field, so that
// reading them reports the error.
func (s jsonSniffer) sniff(in *bufio.Reader) (*bufio.Reader, bool) {
	start, _ := in.Peek(in.Size()) // an error comes again when the file is read
	if start = bytes.TrimLeft(start, " \t\r\n"); len(start) == 0 || start[0] != '{' && start[0] != '[' {
		return in, false
	}
	for size := min(sniffBytes, s.most); ; size = min(8*size, s.most) {
		in = bufio.NewReaderSize(in, size)
		start, err := in.Peek(size)
		if yes, decided := s.decide(start, err != nil); decided || err != nil || size == s.most {
			return in, yes
		}
	}
}

// decide is sniff for the first bytes of a file; ended says that there are no others. It may need
// more bytes to decide.
func (s jsonSniffer) decide(start []byte, ended bool) (yes, decided bool) {
	decoder := json.NewDecoder(bytes.NewReader(start))
	array := bytes.HasPrefix(bytes.TrimSpace(start), []byte("["))
	if array {
		_, _ = decoder.Token()
	}
	var first map[string]json.RawMessage
	if err := decoder.Decode(&first); err != nil {
		return false, err != io.ErrUnexpectedEOF && err != io.EOF
	}
	rest := bytes.TrimSpace(start[decoder.InputOffset():])
	several := array || bytes.HasPrefix(rest, []byte("{"))
	value, has := lookup(first, s.field)
	has = has && (value[0] == '"' || string(value) == "null")
	yes = has && (several || s.json) || s.json && several && (s.named || !array)
	return yes, array || ended || len(rest) > 0
}

// objects calls use with each object of a file that jsonSniffer has recognised, and its number.
func (d diskReader) objects(in *bufio.Reader, path string, use func(number int, object map[string]json.RawMessage) error) error {
	start, _ := in.Peek(in.Buffered())
	array := bytes.HasPrefix(bytes.TrimSpace(start), []byte("["))
	bounded := &boundedReader{in: in, most: d.longestLine()}
	decoder := json.NewDecoder(bounded)
	if array {
		_, _ = decoder.Token() // the bracket
	}
	number := 1
	for ; decoder.More(); number++ {
		var object map[string]json.RawMessage
		bounded.read = 0
		err := decoder.Decode(&object)
		if err == nil {
			err = use(number, object)
		}
		if err != nil {
			return errors.Wrapf(err, "%s:%d", path, number)
		}
	}
	_, err := decoder.Token()
	if array && err == nil { // the array has ended
		_, err = decoder.Token()
	} else if array && err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	switch err {
	case io.EOF:
		return nil
	case nil:
		err = errors.New("want JSON objects, one after another or in one array, got something else")
	}
	return errors.Wrapf(err, "%s:%d", path, number)
}

// boundedReader returns an error when more is read for one document than a document may have.
type boundedReader struct {
	in         io.Reader
	read, most int64 // bytes since the last document, and at most
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.read > b.most {
		return 0, errLongDocument(b.most)
	}
	n, err := b.in.Read(p)
	b.read += int64(n)
	return n, err
}
