package report

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
)

// encodeNPY writes an array of float32 in numpy's format, version 1.0: a magic string, the length
// of a header, the header (a Python literal, padded so that the data begin at a multiple of 64
// bytes), the data in little-endian order, the last axis fastest. See
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html.
func encodeNPY(w io.Writer, a checkpoint.Tensor) error {
	values, err := a.Float32s()
	if err != nil {
		return err
	}
	shape := ""
	for _, n := range a.Shape {
		shape += fmt.Sprintf("%d, ", n)
	}
	const lead, multiple = 10, 64 // magic, version and length; of the data's offset
	header := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }", strings.TrimSuffix(shape, " "))
	header += strings.Repeat(" ", multiple-1-(lead+len(header))%multiple) + "\n"
	start := append([]byte("\x93NUMPY\x01\x00"), 0, 0)
	binary.LittleEndian.PutUint16(start[lead-2:], uint16(len(header)))
	if _, err := w.Write(append(start, header...)); err != nil {
		return errors.WithStack(err)
	}
	return errors.WithStack(binary.Write(w, binary.LittleEndian, values))
}
