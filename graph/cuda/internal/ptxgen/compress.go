//go:build linux

package main

import (
	"os"

	"github.com/klauspost/compress/zstd"
	"github.com/pkg/errors"
)

// ending is the file extension of compressed PTX.
const ending = ".ptx.zst"

// compress compresses PTX or code. The same text gives the same bytes with the same version of the
// library.
func compress(text string) ([]byte, error) {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	return e.EncodeAll([]byte(text), nil), e.Close()
}

// readPacked reads and decompresses a file.
func readPacked(file string) (string, error) {
	packed, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return "", err
	}
	defer d.Close()
	text, err := d.DecodeAll(packed, nil)
	return string(text), errors.Wrap(err, file)
}
