package graph

import (
	"unsafe"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph/cuda"
)

// TransposedParam makes a node of the parameter that p describes, a matrix [rows, columns], which a
// device stores transposed. Tensor cores require that the rows of a matrix begin at multiples of 16
// bytes, and those of an unembedding [features, 50257] do not. On a device the node is [columns,
// rows] and transposed is true; on the CPU it is [rows, columns], like the Store's tensors and
// checkpoints everywhere. Optimizers treat it entry by entry: p must have no Role.
func (b *Builder) TransposedParam(p ParamSpec) (node *gorgonia.Node, transposed bool) {
	if b.err == nil && (len(p.Shape) != 2 || p.Role != "") {
		b.fail(errors.Errorf("graph: parameter %q: want a matrix without a role to keep transposed, got shape %v, role %q", p.Name, p.Shape, p.Role))
	}
	return b.param(p, b.OnDevice()), b.OnDevice()
}

// transposeOnDevice sets whether p lies transposed on the device; call it before p is placed there.
func (p *Param) transposeOnDevice(transposed bool) error {
	if p.transposed != transposed && !p.resident.value.None() {
		return errors.Errorf("parameter %q: it is on the device already: want Param or TransposedParam in all graphs of a store, got both", p.Name)
	}
	p.transposed = transposed
	return nil
}

// deviceShape returns the parameter's shape on a device.
func (p *Param) deviceShape() tensor.Shape {
	if p.transposed {
		return tensor.Shape{p.Shape[1], p.Shape[0]}
	}
	return tensor.Shape(p.Shape).Clone()
}

// copyUp copies a host tensor of p's shape to the device, transposing it if p is stored so
// there. A host tensor that holds only a part of the parameter is already in the device's
// order, and is copied as it is.
func (s *Store) copyUp(p *Param, to cuda.Array, host *tensor.Dense) error {
	if !p.transposed || host.DataSize() < p.Size() {
		return s.device.Upload(to, dataOf(host))
	}
	return p.eachPiece(func(piece []float32, first, rows, columns int) error {
		n := len(piece) / rows
		for i, row := 0, elements[float32](host); i < rows; i, row = i+1, row[columns:] {
			for j, v := range row[first : first+n] {
				piece[j*rows+i] = v
			}
		}
		return s.device.Upload(to.Slice(first*rows, len(piece)), unsafe.Pointer(unsafe.SliceData(piece)))
	})
}

// copyDown does the reverse of copyUp: it copies from the device to the host.
func (s *Store) copyDown(p *Param, host *tensor.Dense, from cuda.Array) error {
	if !p.transposed || host.DataSize() < p.Size() {
		return downloadTo(host, from, s.device)
	}
	return p.eachPiece(func(piece []float32, first, rows, columns int) error {
		if err := s.device.Download(unsafe.Pointer(unsafe.SliceData(piece)), from.Slice(first*rows, len(piece))); err != nil {
			return err
		}
		n := len(piece) / rows
		for i, row := 0, elements[float32](host); i < rows; i, row = i+1, row[columns:] {
			for j := range n {
				row[first+j] = piece[j*rows+i]
			}
		}
		return nil
	})
}

// DeviceOrder returns the values of all entries of p, given in row-major order, in the order in
// which they lie on a device.
func (p *Param) DeviceOrder(values []float32) []float32 {
	if !p.transposed {
		return values
	}
	return transpose(values, p.Shape[0], p.Shape[1])
}

// RowMajor undoes DeviceOrder.
func (p *Param) RowMajor(values []float32) []float32 {
	if !p.transposed {
		return values
	}
	return transpose(values, p.Shape[1], p.Shape[0])
}

// transpose returns the transpose of a matrix [rows, columns].
func transpose(x []float32, rows, columns int) []float32 {
	y := make([]float32, len(x))
	for i := range rows {
		for j, v := range x[i*columns : (i+1)*columns] {
			y[j*rows+i] = v
		}
	}
	return y
}

// eachPiece calls f for successive pieces of a matrix [rows, columns] that is transposed through a
// buffer: piece, [len(piece)/rows, rows], holds the columns from first on.
func (p *Param) eachPiece(f func(piece []float32, first, rows, columns int) error) error {
	const floats = 1 << 18 // 1 MB
	rows, columns := p.Shape[0], p.Shape[1]
	most := min(columns, max(1, floats/rows))
	buffer := make([]float32, most*rows)
	for first := 0; first < columns; first += most {
		if err := f(buffer[:min(most, columns-first)*rows], first, rows, columns); err != nil {
			return err
		}
	}
	return nil
}
