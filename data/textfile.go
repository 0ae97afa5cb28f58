package data

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/pkg/errors"
)

const (
	extGzip = ".gz"
	extZstd = ".zst"
)

// compression returns the extension of the compression that a name has, "" if
// none.
func compression(name string) string {
	name = strings.ToLower(name)
	for _, ext := range []string{extGzip, extZstd} {
		if strings.HasSuffix(name, ext) {
			return ext
		}
	}
	return ""
}

// withText opens a file, decompressed if its extension says so, for use.
func withText(disk string, use func(io.Reader) error) error {
	f, err := os.Open(disk)
	if err != nil {
		return errors.Wrap(err, "data.source files")
	}
	defer f.Close()
	switch compression(disk) {
	case extGzip:
		r, err := gzip.NewReader(f)
		if err != nil {
			return errors.Wrapf(err, "%s: want a gzip file, as its extension says", disk)
		}
		return use(r)
	case extZstd:
		r, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return errors.Wrapf(err, "%s: want a zstd file, as its extension says", disk)
		}
		defer r.Close()
		return use(r)
	}
	return use(f)
}

// readText returns the text of a file.
func readText(disk string) (string, error) {
	var text []byte
	err := withText(disk, func(r io.Reader) (err error) {
		text, err = io.ReadAll(r)
		return errors.Wrap(err, disk)
	})
	if err != nil {
		return "", err
	}
	return string(text), checkText(disk, text)
}

// checkText refuses what is not text: anything with a NUL byte.
func checkText(disk string, text []byte) error {
	at := bytes.IndexByte(text, 0)
	if at < 0 {
		return nil
	}
	hint := "UTF-16 has to be converted first"
	switch {
	case bytes.HasPrefix(text, []byte{0x1f, 0x8b}):
		hint = "it looks compressed by gzip: name it .gz"
	case bytes.HasPrefix(text, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		hint = "it looks compressed by zstd: name it .zst"
	}
	return errors.Errorf("%s: want text in UTF-8, got a binary file (NUL at byte %d); %s", disk, at, hint)
}
