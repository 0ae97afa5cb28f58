package analysis

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/analysis/numerics"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// Erasure measures memory management: heads and neurons that take out of the stream what they
// read from it (Elhage et al. 2021, "Subspaces and Residual Stream Bandwidth": some neurons
// have "very high negative cosine similarity between their input and output weights"). It is
// the cosine of what a neuron reads and what it writes,
//
//	neuron n:  W1[:, n] . W2[n, :] / (|W1[:, n]| |W2[n, :]|)
//	head h:    tr(W_V W_O) / (||W_V|| ||W_O||) = sum Re(eigenvalues of OV) / (||W_V|| ||W_O||)
//
// (W3 instead of W1 where W1 makes a gate, by which the neuron's value W3[:, n] is multiplied)
// with the norms folded in, -1 where exactly the direction that is read is subtracted. A
// matrix stream's are matrices of Dk x Dv: neuron n reads C(g o sum_h r_FF[h] ⊗ W1[h, n]) and
// writes sum_h w_FF[h] ⊗ W2[n, h]; a head reads column v with C(g[:, v] o r_V[h]) and writes
// it with w_O[h]. With unit gain and RMSNorm a head's number is the cosine of r_V[h] and
// w_O[h].
//
// A neuron erases only where its activation is positive, and a head what its pattern fetches:
// the token's own content if it attends to itself.
type Erasure struct {
	Stream string `json:"stream"`
	// Dimensions and HeadDimensions are the dimensions of the spaces in which directions are
	// compared: D or Dk*Dv for neurons, D*Dh or Dk for heads. The cosine of two random directions
	// has the variance 1/Dimensions.
	Dimensions     int            `json:"dimensions"`
	HeadDimensions int            `json:"head_dimensions"`
	Experts        int            `json:"experts,omitempty"`
	Layers         []LayerErasure `json:"layers"`
}

// LayerErasure holds the numbers of one layer.
type LayerErasure struct {
	Heads       []float64 `json:"heads"`       // [head]
	Neurons     []float64 `json:"neurons"`     // [neuron], those of all experts one after another
	FeedForward float64   `json:"feedforward"` // tr(W1 W2) / (||W1|| ||W2||), of all neurons
}

// Eraser is a head or a neuron with its cosine.
type Eraser struct {
	Site   string  `json:"site"`
	Part   string  `json:"part"` // "head" or "neuron"
	Index  int     `json:"index"`
	Cosine float64 `json:"cosine"`
}

// Name returns "blocks.3.feedforward neuron 17", or "blocks.3.attention.1" of a head.
func (e Eraser) Name() string { return stream.PartName(e.Site, e.Part, e.Index) }

// MeasureErasure measures all heads and neurons of a model.
func MeasureErasure(ctx context.Context, store *graph.Store, spec models.Spec) (*Erasure, error) {
	f, err := Fold(store, spec)
	if err != nil {
		return nil, err
	}
	d, values := f.streamWidth(), f.ends[0].values
	e := &Erasure{Stream: f.c.Stream.Name(), Dimensions: d * values, HeadDimensions: d * f.c.HeadDim(), Experts: f.c.FeedForwardShape().Experts}
	if values > 1 {
		e.HeadDimensions = d
	}
	for l := range f.c.Depth() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		layer := LayerErasure{Heads: f.headErasure(l), Neurons: []float64{}}
		if f.c.Shape().Has(stream.FeedForward) {
			layer.Neurons, layer.FeedForward = f.neuronErasure(l)
		}
		e.Layers = append(e.Layers, layer)
	}
	return e, nil
}

// Strongest returns the n strongest erasers, heads and neurons of a negative cosine, the strongest
// first.
func (e *Erasure) Strongest(n int) []Eraser {
	var all []Eraser
	add := func(site, part string, cosines []float64) {
		for i, v := range cosines {
			if v < 0 {
				all = append(all, Eraser{site, part, i, v})
			}
		}
	}
	for l, layer := range e.Layers {
		add(siteName(l, stream.Attention), stream.HeadPart, layer.Heads)
		add(siteName(l, stream.FeedForward), "neuron", layer.Neurons)
	}
	return figure.Largest(all, n, func(e Eraser) float64 { return -e.Cosine })
}

// cosine returns a dot product divided by the root of two squared lengths; 0 if a length is 0.
func cosine(dot, a, b float64) float64 {
	if a <= 0 || b <= 0 {
		return 0
	}
	return dot / math.Sqrt(a*b)
}

// neuronErasure compares the columns of W1 [D, N], or of W3 for gated neurons, the last N that the
// site reads with, with the rows of W2 [N, D]. In a matrix stream these are W1^T (r ⊗ I) and W2 (w
// ⊗ I), whose products are computed from W1, W2 and the products of the keys (linked). joint is the
// cosine of the reading weights and W2, each as a whole and taken as one vector.
func (f *Folded) neuronErasure(layer int) (each []float64, joint float64) {
	site := siteName(layer, stream.FeedForward)
	read, write := f.end(site, true), f.end(site, false)
	in, out := read.weights(), write.weights()
	onIn, onOut, written := in, out, out // what these are multiplied by
	if read.keyed != nil {
		in, out = read.keyed.weights(), write.keyed.weights() // [N, R*Dv]
		r, w, centred := read.keyed.columns(), write.keyed.columns(), read.keyed.centred
		onIn, onOut, written = numerics.Mul(in, linked(r, r, centred)), numerics.Mul(out, linked(w, r, centred)), numerics.Mul(out, linked(w, w, false))
	}
	n := out.RawMatrix().Rows
	gates := in.RawMatrix().Rows - n
	var dot, squareIn, squareOut float64 // of all together
	for i := range n {
		read, wrote := in.RawRowView(gates+i), out.RawRowView(i)
		d, r, w := floats.Dot(read, onOut.RawRowView(i)), floats.Dot(read, onIn.RawRowView(gates+i)), floats.Dot(wrote, written.RawRowView(i))
		each, dot, squareIn, squareOut = append(each, cosine(d, r, w)), dot+d, squareIn+r, squareOut+w
	}
	return each, cosine(dot, squareIn, squareOut)
}

// headErasure compares W_V [D, Dh] and W_O [Dh, D] of each head; in a matrix stream each has Dv
// columns of one key.
func (f *Folded) headErasure(layer int) []float64 {
	var each []float64
	for _, w := range f.layerHeads(layer) {
		k := f.headKeys(w)
		each = append(each, cosine(mat.Trace(linked(k.v, k.o, k.centred)), mat.Trace(linked(k.v, k.v, k.centred)), mat.Trace(linked(k.o, k.o, false))))
	}
	return each
}
