package data

import (
	"context"
	"io"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/regular"
)

// Format reads a file format that needs a library of its own, so that only programs which use
// the format link the library.
type Format struct {
	Extension string // with its dot, in lower case
	// Read emits the texts of a file of size bytes, with their numbers from 1 on, and "" for a
	// record without a text. field names what holds the text, and no text may be longer than
	// longest bytes; 0: there is no limit.
	Read func(ctx context.Context, file io.ReaderAt, size int64, field string, longest int64, emit func(number int, text string) error) error
}

// readFile emits the texts of a file.
func (f Format) readFile(ctx context.Context, disk diskReader, file File, field string, emit func(number int, text string) error) error {
	if compression(file.Name) != "" {
		return errors.Errorf("%s: want a file that is not compressed as a whole, since %s has a compression of its own: decompress it", file.Disk, f.Extension)
	}
	in, size, err := regular.Open(file.Disk)
	if err != nil {
		return err
	}
	defer in.Close()
	return errors.Wrap(f.Read(ctx, countedFile{in, disk.read}, size, field, disk.longest, emit), file.Disk)
}
