//go:build linux

package main

import (
	"os"

	"github.com/klauspost/compress/zstd"
	"github.com/pkg/errors"
)

// ending is that of a file of compressed PTX.
const ending = ".ptx.zst"

// compress packs PTX. The same text gives the same bytes with one version of the library.
func compress(ptx string) ([]byte, error) {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	return e.EncodeAll([]byte(ptx), nil), e.Close()
}

// readPTX reads a file of compressed PTX.
func readPTX(file string) (string, error) {
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
