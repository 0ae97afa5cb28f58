package data

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"unicode/utf8"
)

const (
	sniffBytes = 1 << 16 // bytes at the start of a file that decide whether it is text
	namedFiles = 3       // number of files that a note names
)

// sniff looks at files in a folder that do not have a text's extension. It returns those that have
// no extension and contain text, and keeps the names of the others for notes. It ignores folders
// and empty files.
func (s *fileSource) sniff(ctx context.Context, folder string, names []string) ([]File, error) {
	var files []File
	for _, name := range names {
		f := File{Name: name, Disk: filepath.Join(folder, filepath.FromSlash(name))}
		info, err := os.Stat(f.Disk)
		switch {
		case err == nil && (info.IsDir() || info.Size() == 0):
		case err == nil && !s.byExtension && textExtension(name) == "" && startsWithText(ctx, f.Disk):
			files = append(files, f)
			s.sniffed = true
		default:
			s.skipped = append(s.skipped, fmt.Sprintf("%q", name))
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return files, nil
}

// startsWithText reports whether a file begins with UTF-8 without NUL bytes. A file that cannot be
// read does not count as text, since nobody has named it.
func startsWithText(ctx context.Context, disk string) bool {
	start := make([]byte, sniffBytes)
	n := 0
	err := diskReader{}.open(ctx, disk, func(r *bufio.Reader) (err error) {
		n, err = io.ReadFull(r, start)
		return err
	})
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return false
	}
	start = start[:n]
	if n == sniffBytes { // the last character may be truncated
		for range utf8.UTFMax - 1 {
			if last, size := utf8.DecodeLastRune(start); last == utf8.RuneError && size == 1 {
				start = start[:len(start)-1]
			}
		}
	}
	return utf8.Valid(start)
}

// notes says which files were skipped.
func (s *fileSource) notes() []string {
	lines := s.walked.lines()
	if count := len(s.skipped); count > 0 {
		lines = append(lines, fmt.Sprintf("data.path: %s passed over, not text by extension or content: %s; name them by a glob to read them",
			counted(count, "file", "files"), firstOf(s.skipped)))
	}
	return lines
}
