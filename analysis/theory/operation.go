package theory

import (
	"fmt"
	"math"

	"github.com/residua-go/residua/models/check"
)

// The passes through an operation.
const (
	passForward  = "forward"  // input to output
	passBackward = "backward" // gradient of the output to gradient of the input
	passWeights  = "weights"  // gradient of the weights
)

// Operation is a way into or out of a residual stream: a product with a weight matrix. Make one
// with Retrieve, Store or Linear.
type Operation struct {
	Name string `json:"name"`
	// Rows and Columns are the shape of the weight matrix.
	Rows    int `json:"rows"`
	Columns int `json:"columns"`
	// Transposed says that the input lies along the rows (store), not along the columns.
	Transposed bool `json:"transposed"`
	// Shared is the number of columns of the input that the same weights multiply.
	Shared int `json:"shared"`
}

// Retrieve is the RMT's read Y = r X (paper eq. 22, 25 and 27):
// Y[j,v] = sum_k r[j,k] X[k,v], keys r [keys, Dk], stream X [Dk, Dv]. An attention reads with
// keys = 3 R (queries, keys, values), a feed-forward and the end with R.
func Retrieve(dk, keys, dv int) Operation {
	return Operation{Name: "retrieve", Rows: keys, Columns: dk, Shared: dv}
}

// Store is the RMT's write X = sum_h w[h] ⊗ y_h (paper eq. 18 to 20 and 23):
// X[k,v] = sum_h w[h,k] y[h,v], keys w [R, Dk], data y [R, Dv].
func Store(dk, rank, dv int) Operation {
	return Operation{Name: "store", Rows: rank, Columns: dk, Transposed: true, Shared: dv}
}

// Linear is the transformer's linear map y = W x, W [out, in] (paper Table 1).
func Linear(in, out int) Operation {
	return Operation{Name: "linear", Rows: out, Columns: in, Shared: 1}
}

// FanIn returns the number of terms in an entry of the output: Dk for a retrieve, R for a store,
// the input's width for a linear map.
func (o Operation) FanIn() int {
	if o.Transposed {
		return o.Rows
	}
	return o.Columns
}

// FanOut returns the number of outputs that an entry of the input contributes to: the keys of a
// retrieve, Dk for a store, the output's width for a linear map.
func (o Operation) FanOut() int {
	if o.Transposed {
		return o.Columns
	}
	return o.Rows
}

// Setting holds the inputs of an operation's passes.
type Setting struct {
	Input          Moments `json:"input"`    // of the input's entries
	Gradient       Moments `json:"gradient"` // of the entries of the output's gradient
	WeightVariance float64 `json:"weight_variance"`
}

// check returns an error unless all moments are finite and no variance is negative.
func (s Setting) check() error {
	if !s.Input.finite() || !s.Gradient.finite() || !(Moments{Variance: s.WeightVariance}).finite() {
		return check.Value("setting", "finite moments and no negative variance", fmt.Sprintf("%+v", s))
	}
	return nil
}

// closedForm returns the moments of a pass's result (paper Table 1), with a fan-in of n, a
// fan-out of m, S shared columns, weights of mean 0 and variance var(w):
//
//	forward   mean 0, variance n var(w) (var(x) + mean(x)^2)
//	backward  mean 0, variance m var(w) (var(g) + mean(g)^2)
//	weights   mean S mean(g) mean(x), variance S ((var(g) + mean(g)^2) (var(x) + mean(x)^2) - (mean(g) mean(x))^2)
//
// The paper gives the first two, for a gradient of mean 0. They assume that the weights are
// independent of each other and of what they multiply, which may have any distribution and any
// dependence among its own entries: for i != j, E[w_i w_j x_i x_j] = E[w_i] E[w_j] E[x_i x_j] = 0.
// The third assumes that the S terms are independent and the gradient independent of the input.
func (o Operation) closedForm(pass string, s Setting) Moments {
	x, g := s.Input, s.Gradient
	switch pass {
	case passForward:
		return Moments{Variance: float64(o.FanIn()) * s.WeightVariance * x.Square()}
	case passBackward:
		return Moments{Variance: float64(o.FanOut()) * s.WeightVariance * g.Square()}
	}
	shared, mean := float64(o.Shared), g.Mean*x.Mean
	return Moments{Mean: shared * mean, Variance: shared * (g.Square()*x.Square() - mean*mean)}
}

// Moments are the mean and the variance that all entries of a tensor have.
type Moments struct {
	Mean     float64 `json:"mean"`
	Variance float64 `json:"variance"`
}

// Square returns the mean square E[x^2] = variance + mean^2.
func (m Moments) Square() float64 { return m.Variance + m.Mean*m.Mean }

// finite tells whether both are finite numbers and the variance is not negative.
func (m Moments) finite() bool {
	return !math.IsNaN(m.Square()) && !math.IsInf(m.Square(), 0) && m.Variance >= 0
}
