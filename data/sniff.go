package data

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

const (
	sniffBytes = 1 << 16 // bytes at the start of a file that tell whether it is text
	namedFiles = 3       // names of files that a note tells
)

// sniff returns, of the files in a folder whose extension is not that of a
// text, those that have none and are text by their content. The others are
// remembered for notes. Folders and empty files are neither.
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
			s.skipped = append(s.skipped, name)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return files, nil
}

// startsWithText reports whether the start of a file is UTF-8 without NUL
// bytes. One that cannot be read is no text: nobody asked for it.
func startsWithText(ctx context.Context, disk string) bool {
	start := make([]byte, sniffBytes)
	n := 0
	err := withText(ctx, disk, 0, func(r io.Reader) (err error) {
		n, err = io.ReadFull(r, start)
		return err
	})
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return false
	}
	start = start[:n]
	if n == sniffBytes { // the last character may be cut
		for range utf8.UTFMax - 1 {
			if last, size := utf8.DecodeLastRune(start); last == utf8.RuneError && size == 1 {
				start = start[:len(start)-1]
			}
		}
	}
	return utf8.Valid(start)
}

// notes says which files were passed over.
func (s *fileSource) notes() []string {
	count := len(s.skipped)
	if count == 0 {
		return nil
	}
	var names []string
	for _, name := range s.skipped[:min(count, namedFiles)] {
		names = append(names, fmt.Sprintf("%q", name))
	}
	list := strings.Join(names, ", ")
	if rest := count - len(names); rest > 0 {
		list += fmt.Sprintf(" and %d more", rest)
	}
	files := "files"
	if count == 1 {
		files = "file"
	}
	return []string{fmt.Sprintf("data.path: %d %s passed over, not text by extension or content: %s; name them by a glob to read them", count, files, list)}
}
