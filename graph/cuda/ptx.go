//go:build cuda

package cuda

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/pkg/errors"
)

// compiled holds the compressed PTX of every .cu file, and its code for some GPUs.
//
//go:embed *.zst
var compiled embed.FS

// ptx decompresses the module's PTX.
func (m module) ptx() (string, error) { return unpack(m.name + ".ptx.zst") }

// cubin decompresses the module's code for the GPUs of one major version of compute capability. The
// code was compiled for the first of these GPUs, such as 8.0, and runs on all of them. cubin
// returns "" if the module has no such code.
func (m module) cubin(major int) (string, error) {
	labelled, err := unpack(m.name + ".cubin.zst")
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	ptx, err := m.ptx()
	return findCode(labelled, ptx, major), err
}

// findCode finds the code for a major version among a module's codes. The line before them begins
// with their label and lists their architectures and sizes, as in "sm_80:14216 sm_90:15032". It
// returns "" if there is none, or if the codes were made from other sources than the PTX.
func findCode(labelled, ptx string, major int) string {
	if label(labelled) != label(ptx) {
		return ""
	}
	line, codes, _ := strings.Cut(labelled, "\n")
	for word := range strings.FieldsSeq(line) {
		var architecture, size int
		if _, err := fmt.Sscanf(word, "sm_%d:%d", &architecture, &size); err != nil {
			continue
		}
		if architecture == 10*major {
			return codes[:size]
		}
		codes = codes[size:]
	}
	return ""
}

// label returns the hash of the sources, with which the first line of PTX and of code begins.
func label(text string) string { return text[:min(len(text), len("// sha256 ")+64)] }

// unpack decompresses a file.
func unpack(file string) (string, error) {
	packed, err := compiled.ReadFile(file)
	if err != nil {
		return "", errors.WithStack(err)
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return "", errors.WithStack(err)
	}
	defer d.Close()
	text, err := d.DecodeAll(packed, nil)
	return string(text), errors.Wrap(err, file)
}
