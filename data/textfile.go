package data

import (
	"compress/gzip"
	"context"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/regular"
)

const (
	extGzip = ".gz"
	extZstd = ".zst"
)

// compression returns the extension in a name that indicates compression, "" if there is none.
func compression(name string) string {
	name = strings.ToLower(name)
	for _, ext := range []string{extGzip, extZstd} {
		if strings.HasSuffix(name, ext) {
			return ext
		}
	}
	return ""
}

// withText opens a file, decompressed if its extension says so, and calls use. A textReader checks
// what use reads.
func withText(ctx context.Context, disk string, memory int, use func(io.Reader) error) error {
	f, size, err := regular.Open(disk)
	if err != nil {
		return err
	}
	defer f.Close()
	text := &textReader{ctx: ctx, r: f, memory: int64(memory)}
	switch compression(disk) {
	case extGzip:
		r, err := gzip.NewReader(f)
		if err != nil {
			return errors.Wrapf(err, "%s: want a gzip file, as its extension says", disk)
		}
		text.r, text.packed = r, size
	case extZstd:
		r, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return errors.Wrapf(err, "%s: want a zstd file, as its extension says", disk)
		}
		defer r.Close()
		text.r, text.packed = r, size
	}
	return use(text)
}

// readText returns the text of a file.
func readText(ctx context.Context, disk string, memory int) (string, error) {
	var text []byte
	err := withText(ctx, disk, memory, func(r io.Reader) (err error) {
		text, err = io.ReadAll(r)
		return errors.Wrap(err, disk)
	})
	return string(text), err
}
