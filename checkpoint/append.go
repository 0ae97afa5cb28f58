package checkpoint

import "os"

// Appender is a file opened for appending through a [Disk].
type Appender struct {
	disk Disk
	file *os.File
}

// Append opens an existing file to add lines at its end.
func (d Disk) Append(path string) (*Appender, error) {
	return d.open("open", path, os.O_APPEND|os.O_WRONLY)
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

// Sync flushes the file to the device.
func (f *Appender) Sync() error { return f.disk.do("sync", f.file.Name(), f.file.Sync) }

// Close closes the file, whether it was flushed or not.
func (f *Appender) Close() error {
	err := f.disk.do("close", f.file.Name(), f.file.Close)
	_ = f.file.Close() // if a test has made the step fail
	return err
}
