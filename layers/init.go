package layers

import (
	"math"

	"github.com/residua-go/residua/graph"
)

// Init says how weights are initialised. All draws are from N(0, std^2).
type Init struct {
	// Std is the numerator of a hidden weight's standard deviation, Std/sqrt(fan_in): 1 for LeCun's
	// initialisation, 0.02 in the RMT authors' code.
	Std float64
	// Embedding is the standard deviation of embeddings and positions.
	Embedding float64
	// All says that tables and the unembedding start like hidden weights; a table's fan-in is its
	// number of rows.
	All bool
	// Layers is L in the factor 1/sqrt(2L) for weights that write into the stream; 0: no factor.
	Layers int
}

// Hidden describes a hidden weight with the given fan-in, [..., in, out]. widthRatio is the fan-in
// divided by its muP base (1 without muP). Set the spec's Columns if matrices are packed side by
// side in the last axis.
func (i Init) Hidden(name string, fanIn int, widthRatio float64, shape ...int) graph.ParamSpec {
	return graph.ParamSpec{Name: name, Shape: shape, Init: graph.Normal(i.Std / math.Sqrt(float64(fanIn))), Decay: true, WidthRatio: widthRatio,
		Role: graph.RoleHidden}
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

// Gain describes a norm's gain, which starts at 1.
func Gain(name string, shape ...int) graph.ParamSpec {
	return graph.ParamSpec{Name: name, Shape: shape, Init: graph.Ones()}
}

// Zero describes a parameter that starts at 0 and does not decay: biases, unembeddings.
func Zero(name string, shape ...int) graph.ParamSpec {
	return graph.ParamSpec{Name: name, Shape: shape, Init: graph.Zeros()}
}
