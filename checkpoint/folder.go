package checkpoint

import (
	"io"
	"os"
	"path/filepath"

	"github.com/pkg/errors"
)

// FolderFile is a file of a folder that [WriteFolder] makes.
type FolderFile struct {
	Name  string // without a folder
	Write func(io.Writer) error
}

// WriteFolder makes the folder at path, with those files, whole or not at all: it is made under a temporary name next
// to it, every file flushed to the device, and renamed. A folder that is there already is refused unless replace is
// set; then it is moved aside until the new one has its name.
func WriteFolder(path string, replace bool, files ...FolderFile) error {
	return Disk{}.WriteFolder(path, replace, files...)
}

// WriteFolder is [WriteFolder] through this Disk.
func (d Disk) WriteFolder(path string, replace bool, files ...FolderFile) error {
	path = filepath.Clean(path)
	parent, tmp := filepath.Dir(path), filepath.Join(filepath.Dir(path), temporary(filepath.Base(path)))
	if exists(path) && !replace {
		return errors.Wrapf(os.ErrExist, "cannot write %s", path)
	}
	err := d.makeFolder(parent)
	if err == nil {
		err = d.fillFolder(tmp, files)
	}
	if err == nil {
		err = d.replaceFolder(path, tmp)
	}
	if err != nil {
		os.RemoveAll(tmp)
		return errors.Wrapf(err, "cannot write %s", path)
	}
	return nil
}

// fillFolder makes a folder with files, all flushed.
func (d Disk) fillFolder(folder string, files []FolderFile) error {
	if err := d.makeFolder(folder); err != nil {
		return err
	}
	for _, f := range files {
		if err := d.writeFile(filepath.Join(folder, f.Name), f.Write); err != nil {
			return errors.Wrap(err, f.Name)
		}
	}
	return d.syncFolder(folder)
}

// replaceFolder gives a finished folder its name; what had it is removed after that.
func (d Disk) replaceFolder(path, tmp string) error {
	aside := ""
	if exists(path) {
		aside = filepath.Join(filepath.Dir(path), temporary(filepath.Base(path)))
		if err := d.rename(path, aside); err != nil {
			return err
		}
	}
	err := d.rename(tmp, path)
	if err != nil && aside != "" {
		os.Rename(aside, path)
	}
	if err != nil {
		return err
	}
	if err := d.syncFolder(filepath.Dir(path)); err != nil || aside == "" {
		return err
	}
	return d.remove(aside)
}

// EncodeTensors writes a safetensors file's bytes, those that [WriteTensors] gives a file.
func EncodeTensors(w io.Writer, tensors []Tensor, metadata map[string]string) error {
	return encode(w, tensors, metadata)
}
