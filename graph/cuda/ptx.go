package cuda

import (
	"embed"

	"github.com/klauspost/compress/zstd"
	"github.com/pkg/errors"
)

//go:generate go run ./internal/ptxgen

// compiled holds the PTX of every .cu file, compressed.
//
//go:embed *.ptx.zst
var compiled embed.FS

// module is a compiled .cu file: its name without the ending, and its kernels.
type module struct {
	name    string
	entries []entry
}

// entry is a kernel as its PTX declares it.
type entry struct {
	name    string
	params  []int // the size of each parameter in bytes
	threads int   // the most threads a block may have; the driver's compiler fits its registers to them
	shared  int   // bytes of shared memory that it has of its own, besides what a launch gives it
}

// ptx decompresses the module's PTX.
func (m module) ptx() (string, error) {
	packed, err := compiled.ReadFile(m.name + ".ptx.zst")
	if err != nil {
		return "", errors.WithStack(err)
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return "", errors.WithStack(err)
	}
	defer d.Close()
	text, err := d.DecodeAll(packed, nil)
	return string(text), errors.Wrapf(err, "PTX of %s.cu", m.name)
}
