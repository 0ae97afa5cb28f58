package graph

import "github.com/pkg/errors"

// Role says what kind of weight matrix a parameter holds, for optimizers that treat weight matrices
// differently (Muon). The zero value is for all other parameters: embeddings, positions,
// unembeddings, gains, biases, scalars.
type Role string

// The roles of parameters whose last two axes form a matrix; earlier axes count matrices.
const (
	RoleHidden    Role = "hidden"     // weights of a hidden layer, [in, out]
	RoleReadKeys  Role = "read keys"  // keys by which a matrix stream is read, [out, in]: R x Dk
	RoleWriteKeys Role = "write keys" // keys by which it is written, [in, out]: R x Dk
)

// Matrix is a weight matrix within a parameter: its entry (i, j) is the parameter's entry number
// Offset + i*Stride + j.
type Matrix struct {
	Offset, Rows, Columns, Stride int
	FanIn, FanOut                 int
}

// Matrices returns the weight matrices that a parameter holds. Axes before the last two count
// matrices, and Columns may pack several side by side in the last axis. It returns nil for a
// parameter without a Role, and if a matrix would have only one row or one column.
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

// checkColumns checks that the packed matrices fill the last axis.
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
