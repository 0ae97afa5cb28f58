package analysis

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/stream"
	"github.com/residua-go/residua/stream/linear"
)

// cosine is a dot product over the root of two squared lengths; 0 where one is 0.
func cosine(dot, a, b float64) float64 {
	if a <= 0 || b <= 0 {
		return 0
	}
	return dot / math.Sqrt(a*b)
}

// keyPair are a site's keys, reading and writing, with its norm's gain: all that products of
// matrices [Dk, Dv] need that are sums of outer products with them.
type keyPair struct {
	read, write *mat.Dense // [m, Dk], [R, Dk]
	norm        linear.Norm
	dk, dv      int
}

func (f *Folded) keyPair(layer int, kind stream.Sublayer) keyPair {
	site := siteName(layer, kind)
	norms, own := f.after(site)
	keys, k := own.(linear.Mix), keyPair{write: f.end(site, false).weights()}
	k.read, k.dk, k.dv = keyRows(keys), keys.Out, keys.Width
	for _, m := range norms {
		if norm, ok := m.(linear.Norm); ok {
			k.norm = norm
		}
	}
	return k
}

// scaled are the reading keys as they read column v of the stream: r[d] g[d, v], [m, Dk].
func (k keyPair) scaled(v int) *mat.Dense {
	s, g := mat.DenseCopyOf(k.read), column(k.norm.Gain, k.dv, v)
	for i := range s.RawMatrix().Rows {
		floats.Mul(s.RawRowView(i), g)
	}
	return s
}

// centre takes the mean over all Dk*Dv entries from what is read, given the sums of the
// entries of both.
func (k keyPair) centre(dot, in *float64, sumIn, sumOut float64) {
	if k.norm.Centre {
		entries := float64(k.dk * k.dv)
		*dot -= sumIn * sumOut / entries
		*in -= sumIn * sumIn / entries
	}
}

// keyHeadErasure compares what each head with keys reads as its values and writes: [Dk, Dv] x
// Dv matrices with one key in each column.
func (f *Folded) keyHeadErasure(layer int) []float64 {
	k, heads := f.keyPair(layer, stream.Attention), f.c.HeadCount()
	dot, in := make([]float64, heads), make([]float64, heads)
	for v := range k.dv {
		read := k.scaled(v) // [R + 2 KV, Dk]
		for h := range dot {
			a, b := read.RawRowView(headPlace(f.c, 2, h)), k.write.RawRowView(h) // [Dk]
			d, i := floats.Dot(a, b), floats.Dot(a, a)
			k.centre(&d, &i, floats.Sum(a), floats.Sum(b))
			dot[h], in[h] = dot[h]+d, in[h]+i
		}
	}
	for h := range dot {
		b := k.write.RawRowView(h)
		dot[h] = cosine(dot[h], in[h], float64(k.dv)*floats.Dot(b, b))
	}
	return dot
}

// keyNeurons are the products of what neurons read and write by keys, from
// products of keys: with g_v the gain's column v,
//
//	in.out  = sum_v W1[:, v, n]^T (r diag(g_v) w^T) W2[n, :, v]^T
//	|in|^2  = sum_v W1[:, v, n]^T (r diag(g_v)^2 r^T) W1[:, v, n]
//	|out|^2 = sum_v W2[n, :, v] (w w^T) W2[n, :, v]^T
func (f *Folded) keyNeurons(layer int) inOut {
	k := f.keyPair(layer, stream.FeedForward)
	name := siteName(layer, stream.FeedForward)
	w1 := f.blockWeights(name)                         // [R*Dv, N]
	if f.store.Param(f.parameter(name, "w3")) != nil { // gated: the values' weights
		w1 = f.dense(f.parameter(name, "w3"), f.c.Width())
	}
	_, n := w1.Dims()
	w2 := f.dense(f.parameter(name, "w2"), n) // [N, R*Dv]
	p := inOut{make([]float64, n), make([]float64, n), make([]float64, n)}
	sumIn, sumOut := make([]float64, n), make([]float64, n)
	var written, across, own mat.Dense
	written.Mul(k.write, k.write.T())
	for v := range k.dv {
		read, in, out := k.scaled(v), everyRow(w1, v, k.dv), everyRow(w2.T(), v, k.dv) // [R, Dk], [R, N], [R, N]
		across.Mul(k.write, read.T())                                                  // [R, R]
		own.Mul(read, read.T())
		addProducts(p.dot, &across, in, out)
		addProducts(p.in, &own, in, in)
		addProducts(p.out, &written, out, out)
		addSums(sumIn, read, in)
		addSums(sumOut, k.write, out)
	}
	for i := range n {
		k.centre(&p.dot[i], &p.in[i], sumIn[i], sumOut[i])
	}
	return p
}

// everyRow is the rows v, v+dv, ... of w [R*dv, N]: the entry v of each of R vectors, [R, N].
func everyRow(w mat.Matrix, v, dv int) *mat.Dense {
	rows, n := w.Dims()
	x := mat.NewDense(rows/dv, n, nil)
	for h := range rows / dv {
		mat.Row(x.RawRowView(h), h*dv+v, w)
	}
	return x
}

// addProducts adds b_n^T K a_n of the columns of a and b to each sum.
func addProducts(sums []float64, k, a, b *mat.Dense) {
	var mapped mat.Dense
	mapped.Mul(k, a)
	rows, _ := b.Dims()
	for h := range rows {
		row := mapped.RawRowView(h)
		floats.Mul(row, b.RawRowView(h))
		floats.Add(sums, row)
	}
}

// addSums adds to each sum the entries' sum of a column of keys^T a: a_n . (keys 1).
func addSums(sums []float64, keys, a *mat.Dense) {
	rows, n := a.Dims()
	each := make([]float64, rows) // sum over d of each key
	for h := range each {
		each[h] = floats.Sum(keys.RawRowView(h))
	}
	blas64.Gemv(blas.Trans, 1, a.RawMatrix(), blas64.Vector{N: rows, Data: each, Inc: 1}, 1, blas64.Vector{N: n, Data: sums, Inc: 1})
}
