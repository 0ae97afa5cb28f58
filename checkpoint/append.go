package checkpoint

import (
	"os"

	"github.com/pkg/errors"
)

// Appender is a file that is appended to through a [Disk].
type Appender struct {
	disk Disk
	file *os.File
}

// Append opens a file, which must exist, for lines to be added at its end.
func (d Disk) Append(path string) (*Appender, error) {
	if err := d.at("open", path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return nil, errors.WithStack(err)
	}
	return &Appender{d, f}, nil
}

// Write adds to the end of the file.
func (f *Appender) Write(p []byte) (int, error) {
	if err := f.disk.at("write", f.file.Name()); err != nil {
		return 0, err
	}
	n, err := f.file.Write(p)
	return n, errors.WithStack(err)
}

// Sync flushes the file to the device.
func (f *Appender) Sync() error {
	if err := f.disk.at("sync", f.file.Name()); err != nil {
		return err
	}
	return errors.WithStack(f.file.Sync())
}

// Close closes the file, flushed or not.
func (f *Appender) Close() error {
	if err := f.disk.at("close", f.file.Name()); err != nil {
		f.file.Close()
		return err
	}
	return errors.WithStack(f.file.Close())
}
