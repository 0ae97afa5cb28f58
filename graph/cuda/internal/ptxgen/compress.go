//go:build linux

package main

import "github.com/klauspost/compress/zstd"

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
