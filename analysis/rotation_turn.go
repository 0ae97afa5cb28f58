package analysis

import (
	"maps"
	"strings"

	"github.com/pkg/errors"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/graph"
)

// standing says how a parameter stands to a space of the stream.
type standing int

const (
	aside  standing = iota + 1 // it has no axis in that space
	writes                     // its last axis is made of vectors of that space: W Q
	reads                      // the axis before its last is: Q^T W
)

// standings are those of every kind of parameter, by the last part of its name, to a space.
func standings(space string) map[string]standing {
	all := map[string]standing{"norm": aside, "qkv_bias": aside, "w1_bias": aside}
	given := map[string]map[string]standing{
		SpaceStream: {
			"embedding": writes, "positions": writes, "o": writes, "o_bias": writes, "w2": writes, "w2_bias": writes, "norm_bias": writes,
			"qkv": reads, "w1": reads, "router": reads, "unembedding": reads,
		},
		SpaceKey: { // keys are rows, to read and to write
			"write_embedding": writes, "write_positions": writes, "read_unembedding": writes, "read": writes, "write": writes,
			"norm_bias": reads, // [Dk, Dv]
			"embedding": aside, "positions": aside, "w1": aside, "w2": aside, "w2_bias": aside, "router": aside, "unembedding": aside,
		},
		SpaceValue: { // features are R vectors of Dv entries
			"embedding": writes, "positions": writes, "w2": writes, "w2_bias": writes, "norm_bias": writes,
			"w1": reads, "router": reads, "unembedding": reads,
			"write_embedding": aside, "write_positions": aside, "read_unembedding": aside, "read": aside, "write": aside,
		},
	}
	maps.Copy(all, given[space])
	return all
}

// kindOf is the last part of a parameter's name.
func kindOf(name string) string { return name[strings.LastIndex(name, ".")+1:] }

// turn writes the weights of one Store, turned, into another of the same parameters, which
// may be the same. Gains stay as they are.
func (r *Rotation) turn(to, from *graph.Store) error {
	for _, p := range from.Params() {
		values := graph.Float64s(p.Value)
		for _, part := range r.parts() {
			if *part.matrix == nil {
				continue
			}
			how, known := standings(part.space)[kindOf(p.Name)]
			if !known {
				return errors.Errorf("analysis: rotation: parameter %q: want one of a matrix or vector stream's, got a name of neither", p.Name)
			}
			values = turned(values, *part.matrix, how, p.Shape[len(p.Shape)-1])
		}
		if err := graph.SetFloat64s(to.Param(p.Name).Value, values); err != nil {
			return errors.Wrapf(err, "analysis: rotation: %q", p.Name)
		}
	}
	return nil
}

// turned multiplies a parameter's values by q [n, n]: rows of n entries, or blocks [n,
// last].
func turned(values []float64, q *mat.Dense, how standing, last int) []float64 {
	if how == aside {
		return values
	}
	n, _ := q.Dims()
	all := make([]float64, len(values))
	if how == writes {
		rows := len(values) / n
		mat.NewDense(rows, n, all).Mul(mat.NewDense(rows, n, values), q)
		return all
	}
	for size, at := n*last, 0; at < len(values); at += size {
		mat.NewDense(n, last, all[at:at+size]).Mul(q.T(), mat.NewDense(n, last, values[at:at+size]))
	}
	return all
}
