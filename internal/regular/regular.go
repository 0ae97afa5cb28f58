// Package regular opens files that somebody else wrote. It refuses named pipes and devices, because
// opening one may wait for ever and reading one may never end.
package regular

import (
	"bytes"
	"io"
	"io/fs"
	"os"

	"github.com/pkg/errors"
)

// ByteOrderMark begins some files of UTF-8. It is not part of their text.
const ByteOrderMark = "\ufeff"

// Open opens a regular file and returns its size. It refuses a Git LFS pointer.
func Open(path string) (*os.File, int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, errors.WithStack(err)
	}
	if err := Check(path, info); err != nil {
		return nil, 0, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, errors.WithStack(err)
	}
	if err := checkPointer(f); err != nil {
		_ = f.Close()
		return nil, 0, errors.Wrap(err, path)
	}
	return f, info.Size(), nil
}

// Check refuses anything that is not a regular file and says what it is.
func Check(path string, info fs.FileInfo) error {
	got := "a special one (" + info.Mode().Type().String() + ")"
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return errors.Errorf("%s: want a regular file, got a folder", path)
	case mode&fs.ModeNamedPipe != 0:
		got = "a pipe"
	case mode&fs.ModeDevice != 0:
		got = "a device"
	}
	return errors.Errorf("%s: want a regular file, got %s: save what it gives in a file and name that", path, got)
}

// ErrTooLarge is in the chain of the error that Read returns for a file that exceeds the limit.
var ErrTooLarge = errors.New("is it the right file?")

// Read reads a regular file of text, of at most limit bytes, without its byte order mark. It does
// not load a much larger file into memory. The error names the file.
func Read(path string, limit int64) ([]byte, error) {
	f, _, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, errors.WithStack(err)
	}
	if int64(len(text)) > limit {
		return nil, errors.WithMessagef(ErrTooLarge, "%s: want a file of at most %d bytes, got more", path, limit)
	}
	if what := Kind(text); what != "" {
		return nil, errors.Errorf("%s: want text, but %s", path, what)
	}
	return bytes.TrimPrefix(text, []byte(ByteOrderMark)), nil
}
