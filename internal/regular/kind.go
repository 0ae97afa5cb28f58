package regular

import (
	"bytes"
	"os"

	"github.com/pkg/errors"
)

// KindBytes is how many bytes at the start of a file suffice to recognise its Kind.
const KindBytes = 40

// pointer begins a Git LFS pointer.
const pointer = "version https://git-lfs.github.com/spec/"

// Kind says what a file is, and what to do about it, if it begins like a file of another kind than
// text or safetensors; otherwise it returns "".
func Kind(start []byte) string {
	for _, kind := range [][2]string{
		{pointer, "it is a Git LFS pointer to the file that is wanted: run git lfs pull"},
		{"GGUF\x01", isGGUF}, {"GGUF\x02", isGGUF}, {"GGUF\x03", isGGUF},
		{"PK\x03\x04", "it is a zip archive, as PyTorch's .bin and .pt files are, too: unpack it or, if it has weights, save them as safetensors"},
		{"PK\x05\x06", "it is an empty zip archive"},
		{"\x1f\x8b", "it looks compressed by gzip: name it .gz if it is text, otherwise decompress it"},
		{"\x28\xb5\x2f\xfd", "it looks compressed by zstd: name it .zst if it is text, otherwise decompress it"},
		{"BZh91AY&SY", "it looks compressed by bzip2: decompress it"},
		{"\xfd7zXZ\x00", "it looks compressed by xz: decompress it"},
		{"PAR1\x15", "it looks like Parquet, which residua prepare reads"},
	} {
		if bytes.HasPrefix(start, []byte(kind[0])) {
			return kind[1]
		}
	}
	return ""
}

const isGGUF = "it is a GGUF file of llama.cpp's, which holds a whole model: name the file itself by -checkpoint"

// checkPointer returns an error if a file is a Git LFS pointer, which is never what is wanted.
func checkPointer(f *os.File) error {
	start := make([]byte, KindBytes)
	n, _ := f.ReadAt(start, 0) // an error comes again when the file is read
	if start = start[:n]; bytes.HasPrefix(start, []byte(pointer)) {
		return errors.New(Kind(start))
	}
	return nil
}
