package analysis

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/analysis/numerics"
	"github.com/residua-go/residua/stream"
)

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
// cosine of all neurons' weights as long vectors.
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
