package data

import (
	"io"
	"io/fs"
	"os"

	"github.com/pkg/errors"
)

// openRegular opens a regular file and returns its size. Named pipes and
// devices are refused: opening one may wait for ever, reading one may never
// end.
func openRegular(path string) (*os.File, int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, errors.WithStack(err)
	}
	if err := checkRegular(path, info); err != nil {
		return nil, 0, err
	}
	f, err := os.Open(path)
	return f, info.Size(), errors.WithStack(err)
}

// checkRegular refuses what is not a regular file and says what it is.
func checkRegular(path string, info fs.FileInfo) error {
	const fix = "save what it gives in a file and name that"
	mode := info.Mode()
	switch {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return errors.Errorf("%s: want a regular file, got a folder", path)
	case mode&fs.ModeNamedPipe != 0:
		return errors.Errorf("%s: want a regular file, got a pipe: %s", path, fix)
	case mode&fs.ModeDevice != 0:
		return errors.Errorf("%s: want a regular file, got a device: %s", path, fix)
	}
	return errors.Errorf("%s: want a regular file, got a special one (%s): %s", path, mode.Type(), fix)
}

// ReadFile reads a regular file of at most limit bytes, which is for files that
// somebody else wrote: pipes, devices and folders are refused, and a file that
// is far too large is not read into memory. The error names the file.
func ReadFile(path string, limit int64) (text []byte, err error) {
	defer func() { err = printable(err) }()
	f, _, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err = io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, errors.WithStack(err)
	}
	if int64(len(text)) > limit {
		return nil, errors.Errorf("%s: want a file of at most %d bytes, got more: is it the right file?", path, limit)
	}
	return text, nil
}
