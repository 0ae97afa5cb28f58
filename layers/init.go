package layers

import (
	"math"

	"github.com/residua-go/residua/graph"
)

// Init says how weights start. Every draw is from N(0, std^2).
type Init struct {
	// Std is the numerator of a hidden weight's standard deviation, Std/sqrt(fan_in):
	// 1 is LeCun's initialisation, 0.02 the RMT authors' code's.
	Std float64
	// Embedding is the standard deviation of embeddings and positions.
	Embedding float64
	// All says that tables and the unembedding start as hidden weights do; a table's fan-in is its
	// rows.
	All bool
	// Layers is L of the factor 1/sqrt(2L) on what writes into the stream; 0: no factor.
	Layers int
}

// Hidden describes a hidden weight of the given fan-in, [..., in, out]. widthRatio is the
// fan-in over its muP base (1 without muP). Matrices packed side by side in the last axis are
// told apart by the spec's Columns.
func (i Init) Hidden(name string, fanIn int, widthRatio float64, shape ...int) graph.ParamSpec {
	return graph.ParamSpec{Name: name, Shape: shape, Init: graph.Normal(i.Std / math.Sqrt(float64(fanIn))), Decay: true, WidthRatio: widthRatio, Role: graph.RoleHidden}
}

// Output describes a weight whose product is added to the residual stream: like Hidden, with a
// standard deviation 1/sqrt(2L) times as large (GPT-2, Radford et al. 2019, section 2.3).
func (i Init) Output(name string, fanIn int, widthRatio float64, shape ...int) graph.ParamSpec {
	p := i.Hidden(name, fanIn, widthRatio, shape...)
	if i.Layers > 0 {
		p.Init.Std /= math.Sqrt(2 * float64(i.Layers))
	}
	return p
}

// Input describes an embedding or a position table.
func (i Init) Input(name string, shape ...int) graph.ParamSpec {
	std := i.Embedding
	if i.All {
		std = i.Std / math.Sqrt(float64(shape[0]))
	}
	return graph.ParamSpec{Name: name, Shape: shape, Init: graph.Normal(std)}
}

// Gain describes a norm's gain, 1 at first.
func Gain(name string, shape ...int) graph.ParamSpec {
	return graph.ParamSpec{Name: name, Shape: shape, Init: graph.Ones()}
}

// Zero describes a parameter that starts at 0 and does not decay: biases, unembeddings.
func Zero(name string, shape ...int) graph.ParamSpec {
	return graph.ParamSpec{Name: name, Shape: shape, Init: graph.Zeros()}
}
