package checkpoint

import (
	"io"
	"math"
	"os"

	"github.com/pkg/errors"
)

// Appender is a file to add to, through a [Disk].
type Appender struct {
	disk Disk
	file *os.File
}

// ErrGone is in the chain of an error that says that a file was deleted, moved or replaced while
// it was written.
var ErrGone = errors.New("it was deleted, moved or replaced while it was written")

// Append opens an existing file to add lines at its end.
func (d Disk) Append(path string) (*Appender, error) {
	return d.open("open", path, os.O_APPEND|os.O_RDWR)
}

// Extend opens a file to add to its first size bytes; it drops what is after them. A file that does
// not exist is made if size is 0.
func (d Disk) Extend(path string, size int64) (*Appender, error) {
	flag := os.O_RDWR
	if size == 0 {
		flag |= os.O_CREATE
	}
	f, err := d.open("open", path, flag)
	if err != nil {
		return nil, err
	}
	err = d.do("truncate", path, func() error {
		end, err := f.file.Seek(0, io.SeekEnd)
		if err == nil && end < size {
			err = errors.Errorf("%s: want at least %d bytes, got %d: it has been cut short", path, size, end)
		}
		if err == nil {
			err = f.file.Truncate(size)
		}
		if err == nil {
			_, err = f.file.Seek(size, io.SeekStart)
		}
		return err
	})
	if err != nil {
		_ = f.file.Close()
		return nil, err
	}
	return f, nil
}

func (d Disk) open(step, path string, flag int) (*Appender, error) {
	f := &Appender{disk: d}
	return f, d.do(step, path, func() (err error) {
		f.file, err = os.OpenFile(path, flag, 0o666)
		return err
	})
}

// Write adds to the end of the file.
func (f *Appender) Write(p []byte) (n int, err error) {
	err = f.disk.do("write", f.file.Name(), func() (err error) {
		n, err = f.file.Write(p)
		return err
	})
	return n, err
}

// WriteAt replaces bytes of a file that Extend has opened.
func (f *Appender) WriteAt(p []byte, at int64) (n int, err error) {
	err = f.disk.do("write", f.file.Name(), func() (err error) {
		n, err = f.file.WriteAt(p, at)
		return err
	})
	return n, err
}

// Sync flushes the file to the device. The error wraps [ErrGone] if nothing, or another file, has
// its name by now: what is written would be lost when the program ends.
func (f *Appender) Sync() error {
	if err := f.disk.do("sync", f.file.Name(), f.file.Sync); err != nil {
		return err
	}
	ours, err := f.file.Stat()
	if err != nil {
		return errors.WithStack(err)
	}
	named, err := os.Stat(f.file.Name())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return errors.WithStack(err)
	}
	if err != nil || !os.SameFile(ours, named) {
		return errors.WithMessage(ErrGone, f.file.Name())
	}
	return nil
}

// Keep flushes a file that Append has opened, as Sync does. If the file has lost its name, Keep
// writes all of it anew under that name, and says so; another file of that name is kept as
// NAME.replaced.
func (f *Appender) Keep(warn func(string)) error {
	gone := f.Sync()
	if !errors.Is(gone, ErrGone) {
		return gone
	}
	path, note := f.file.Name(), ": all that it held is written anew"
	switch err := f.disk.rename(path, path+".replaced"); {
	case err == nil:
		note += ", and the file that has its name is kept as " + path + ".replaced"
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	err := f.disk.WriteFileAtomic(path, func(w io.Writer) error {
		_, err := io.Copy(w, io.NewSectionReader(f.file, 0, math.MaxInt64))
		return errors.WithStack(err)
	})
	if err != nil {
		return err
	}
	anew, err := f.disk.Append(path)
	if err != nil {
		return err
	}
	_ = f.file.Close() // its content is in the new file
	f.file = anew.file
	warn(gone.Error() + note)
	return nil
}

// Close closes the file, whether it was flushed or not.
func (f *Appender) Close() error {
	err := f.disk.do("close", f.file.Name(), f.file.Close)
	_ = f.file.Close() // the file gets closed even if a test made the step above fail
	return err
}
