//go:build linux

package main

import (
	"os"

	"github.com/klauspost/compress/zstd"
	"github.com/pkg/errors"
)

// ending is that of a file of compressed PTX.
const ending = ".ptx.zst"

// compress packs PTX or code. The same text gives the same bytes with one version of the library.
func compress(text string) ([]byte, error) {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	return e.EncodeAll([]byte(text), nil), e.Close()
}

// readPacked reads a file that compress packed.
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
