package analysis

import (
	"slices"
	"strings"

	"github.com/pkg/errors"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/analysis/numerics"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/stream"
)

// axisRole says which axis of a parameter, if any, lies in a space of the stream.
type axisRole int

const (
	noAxis axisRole = iota + 1 // it has no axis in that space
	writes                     // its last axis is made of vectors of that space: W Q
	reads                      // the axis before its last is: Q^T W
)

// axisRoles returns the roles of parameters in a space, by the last part of their names. It lists
// every parameter that a model whose stream has the spaces can have.
func axisRoles(space string, spaces []stream.Space) map[string]axisRole {
	all := map[string]axisRole{}
	for _, part := range []string{"norm", "qkv_bias", "q_norm", "k_norm", "value_residual", "x0", "w1", "w1_bias", "w2", "w2_bias", "w3", "w3_bias", "router",
		"unembedding"} {
		all[part] = noAxis
	}
	for _, s := range spaces {
		for _, part := range slices.Concat(s.Writes, s.Reads) {
			all[part] = noAxis
		}
	}
	for _, s := range spaces {
		if s.Name != space {
			continue
		}
		if s.Features {
			s.Writes, s.Reads = append(s.Writes, "w2", "w2_bias"), append(s.Reads, "w1", "w3", "router", "unembedding")
		}
		for _, part := range s.Writes {
			all[part] = writes
		}
		for _, part := range s.Reads {
			all[part] = reads
		}
	}
	return all
}

// lastPart returns the last part of a parameter's name.
func lastPart(name string) string { return name[strings.LastIndex(name, ".")+1:] }

// apply writes the rotated weights of one Store into another with the same parameters, which may be
// the same Store. spaces are the stream's. Gains stay as they are.
func (r *Rotation) apply(to, from *graph.Store, spaces []stream.Space) error {
	for _, p := range from.Params() {
		values := graph.Float64s(p.Value)
		for _, part := range r.parts() {
			if *part.matrix == nil {
				continue
			}
			how, known := axisRoles(part.space, spaces)[lastPart(p.Name)]
			if !known {
				return check.Value("parameter", "one that the stream's spaces, or blocks, list", p.Name)
			}
			values = rotateValues(values, *part.matrix, how, p.Shape[len(p.Shape)-1])
		}
		if err := graph.SetFloat64s(to.Param(p.Name).Value, values); err != nil {
			return errors.Wrapf(err, "%q", p.Name)
		}
	}
	return nil
}

// rotateValues multiplies a parameter's values by q [n, n]: rows of n entries, or blocks [n,
// last].
func rotateValues(values []float64, q *mat.Dense, how axisRole, last int) []float64 {
	n, _ := q.Dims()
	switch how {
	case noAxis:
		return values
	case writes:
		return numerics.Mul(mat.NewDense(len(values)/n, n, values), q).RawMatrix().Data
	}
	all := make([]float64, 0, len(values))
	for block := range slices.Chunk(values, n*last) {
		all = append(all, numerics.Mul(q.T(), mat.NewDense(n, last, block)).RawMatrix().Data...)
	}
	return all
}
