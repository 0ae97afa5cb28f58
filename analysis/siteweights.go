package analysis

import (
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/analysis/cache"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// siteReader reads the weights by which a model's sites read and write the stream, in
// float64. In what a site reads the norm in front of it is folded (row vectors, y = x W):
//
//	LayerNorm: W <- C diag(g) W, C = I - 11^T/D;   RMSNorm: W <- diag(g) W
//
// The norm's scale, which depends on the token, changes no direction.
type siteReader struct {
	store *graph.Store
	model *models.Model
	c     models.Config
}

// newSiteReader refuses a stream that lacks the analysis called name, and a store that is
// not the config's.
func newSiteReader(name string, store *graph.Store, c models.Config) (*siteReader, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.Resolve()
	if err := unsupported(name, c); err != nil {
		return nil, err
	}
	m, err := cache.Sketch(store, c)
	if err != nil {
		return nil, err
	}
	return &siteReader{store, m, c}, nil
}

// siteName is "blocks.3.attention".
func siteName(layer int, kind stream.Kind) string {
	return stream.Site{Block: layer, Kind: kind}.Name()
}

// isMatrix tells whether sites read and write by key vectors.
func (r *siteReader) isMatrix() bool { return r.c.Stream == models.StreamMatrix }

// values are a parameter's, in memory of their own; nil without it.
func (r *siteReader) values(name string) []float64 {
	p := r.store.Param(name)
	if p == nil {
		return nil
	}
	return graph.Float64s(p.Value)
}

// dense is a parameter as a matrix of so many rows, in memory of its own.
func (r *siteReader) dense(name string, rows int) *mat.Dense {
	w := r.values(name)
	return mat.NewDense(rows, len(w)/rows, w)
}

// fold folds the norm called name into W [D, m], which reads behind it.
func (r *siteReader) fold(name string, w *mat.Dense) *mat.Dense {
	gain := r.values(name)
	for d, g := range gain {
		floats.Scale(g, w.RawRowView(d))
	}
	if r.c.Norm == models.NormLayer {
		centreColumns(w)
	}
	return w
}

// centreColumns takes its mean from each column: C W.
func centreColumns(w *mat.Dense) {
	rows, columns := w.Dims()
	mean := make([]float64, columns)
	for d := range rows {
		floats.AddScaled(mean, 1/float64(rows), w.RawRowView(d))
	}
	for d := range rows {
		floats.Sub(w.RawRowView(d), mean)
	}
}

// heads are W_Q | W_K | W_V [D, 3W], folded, and W_O [W, D] of a layer of a stream of vectors,
// W = heads*headDim.
func (r *siteReader) heads(layer int) (qkv, o *mat.Dense) {
	name := siteName(layer, stream.Attention)
	return r.fold(name+".norm", r.dense(name+".qkv", r.c.DModel)), r.dense(name+".o", r.c.HeadCount()*r.c.HeadDim())
}

// head is one head's share of such weights: W_V [D, Dh] and W_O [Dh, D].
func (r *siteReader) head(qkv, o *mat.Dense, h int) (v, out mat.Matrix) {
	dh, width := r.c.HeadDim(), r.c.HeadCount()*r.c.HeadDim()
	from := 2*width + h*dh
	return qkv.Slice(0, r.c.DModel, from, from+dh), o.Slice(h*dh, (h+1)*dh, 0, r.c.DModel)
}

// neurons are W1 [F, N] and W2 [N, F] of a layer's feed-forward as they stand, of the features
// F = D or R*Dv: N neurons, those of all experts one after another.
func (r *siteReader) neurons(layer int) (w1, w2 *mat.Dense) {
	name, features := siteName(layer, stream.FeedForward), r.c.Width()
	experts := max(1, r.c.Experts)
	w2 = r.dense(name+".w2", experts*r.c.FF)
	if r.c.Experts == 0 {
		return r.dense(name+".w1", features), w2
	}
	each := r.values(name + ".w1") // [experts, F, FF]
	w1 = mat.NewDense(features, experts*r.c.FF, nil)
	for e := range experts {
		for f := range features {
			copy(w1.RawRowView(f)[e*r.c.FF:], share(share(each, experts, e), features, f))
		}
	}
	return w1, w2
}

// foldedNeurons is neurons with the norm folded into W1, for a stream of vectors.
func (r *siteReader) foldedNeurons(layer int) (w1, w2 *mat.Dense) {
	w1, w2 = r.neurons(layer)
	return r.fold(siteName(layer, stream.FeedForward)+".norm", w1), w2
}

// keys are a matrix stream's key vectors called name, [m, Dk].
func (r *siteReader) keys(name string) *mat.Dense {
	w := r.values(name)
	return mat.NewDense(len(w)/r.c.Dk, r.c.Dk, w)
}

// foldedKeys are reading keys [m, Dk] with the norm in front of them folded as far as one key
// a read allows: r[d] * mean_v g[d, v]. The norm's own centring, over all Dk*Dv entries
// jointly, takes the same number from all entries and is no map of key space: it is left out.
func (r *siteReader) foldedKeys(name, norm string) *mat.Dense {
	keys, gain := r.keys(name), r.values(norm)
	mean := make([]float64, r.c.Dk)
	for d := range mean {
		mean[d] = floats.Sum(share(gain, r.c.Dk, d)) / float64(r.c.Dv)
	}
	for i := range keys.RawMatrix().Rows {
		floats.Mul(keys.RawRowView(i), mean)
	}
	return keys
}
