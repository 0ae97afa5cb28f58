package graph

import "github.com/pkg/errors"

// Role says what a parameter is to an optimizer that treats weight matrices otherwise than
// the rest (Muon). The zero value is the rest: embeddings, positions, unembeddings, gains,
// biases, scalars.
type Role string

// Roles of parameters whose last two axes are a matrix; axes before them count matrices.
const (
	RoleHidden    Role = "hidden"     // weights of a hidden layer, [in, out]
	RoleReadKeys  Role = "read keys"  // keys that a matrix stream is read by, [out, in]: R x Dk
	RoleWriteKeys Role = "write keys" // keys that it is written by, [in, out]: R x Dk
)

// Matrix is a weight matrix within a parameter: entry (i, j) is number Offset + i*Stride + j.
type Matrix struct {
	Offset, Rows, Columns, Stride int
	FanIn, FanOut                 int
}

// Matrices returns the weight matrices that a parameter holds: one for each of the axes
// before the last two, and of each as many as the last axis packs side by side. It returns
// nil for a parameter without a Role, and where a matrix would be a vector, of one row or
// one column.
func (p ParamSpec) Matrices() []Matrix {
	if p.Role == "" || len(p.Shape) < 2 {
		return nil
	}
	rows, stride := p.Shape[len(p.Shape)-2], p.Shape[len(p.Shape)-1]
	widths := p.Columns
	if widths == nil {
		widths = []int{stride}
	}
	var all []Matrix
	for first := 0; first < product(p.Shape); first += rows * stride {
		offset := first
		for _, columns := range widths {
			if rows < 2 || columns < 2 {
				return nil
			}
			m := Matrix{Offset: offset, Rows: rows, Columns: columns, Stride: stride, FanIn: rows, FanOut: columns}
			if p.Role == RoleReadKeys {
				m.FanIn, m.FanOut = columns, rows
			}
			all = append(all, m)
			offset += columns
		}
	}
	return all
}

// checkColumns wants packed matrices that fill the last axis.
func (p ParamSpec) checkColumns() error {
	if p.Columns == nil {
		return nil
	}
	sum := 0
	for _, n := range p.Columns {
		sum += n
	}
	if last := p.Shape[len(p.Shape)-1]; sum != last {
		return errors.Errorf("want columns %v that add up to the last axis of shape %v, got %d", p.Columns, p.Shape, sum)
	}
	return nil
}
