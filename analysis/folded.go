package analysis

import (
	"cmp"

	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/analysis/numerics"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/stream"
)

// Folded holds a model's weights as circuits use them (Elhage et al. 2021, "A Mathematical
// Framework for Transformer Circuits"): weights that read the stream have the norm in front of them
// folded in, without the scale 1/sigma that the norm has for a token. With row vectors,
// y = x W, and C = I - 11^T/D,
//
//	LayerNorm: W <- C diag(g) W;   RMSNorm: W <- diag(g) W
//
// QK-norm is folded in the same way, W_Q <- W_Q diag(g_Q) and W_K <- W_K diag(g_K) of each head,
// without the scale 1/rms that a token's query or key has. Weights that write to the stream are
// unchanged, except that LayerScale's gain is folded into W_O and W2, W <- W diag(g). Biases are
// not part of circuits.
//
// A value residual, v <- a v + b v_0 with the values v_0 of the first attention, makes W_V <- a
// W_V; b W_V of the first attention, which reads the stream there and not here, is
// HeadWeights.First.
//
// All streams of vectors have this form. Those of several rows a token (hyper-connections, mHC,
// virtual width networks) mix the rows into one vector u [D] first, and the norm and the weights
// after it see u: "the stream" of their weights is that vector. How much of what one site writes
// arrives in the u of another is a separate question (see VirtualWeights).
//
// A matrix stream's sites read and write rows of X [Dk, Dv] by key vectors, the same way in all Dv
// columns: their weights are those keys, in the space of keys [Dk], and each map of keys A [Dk, Dk]
// stands for A ⊗ I, the identity on values. A gain g [Dk, Dv] that differs between columns cannot
// be folded into a key; its mean over values is used, r[d] <- r[d] mean_v g[d, v], and r_Q <- r_Q
// mean_v g_Q[v]. LayerNorm's joint mean, which subtracts the same number from all Dk*Dv entries, is
// left out. For an RMSNorm with equal gains in each row this is exact. Virtual weights, the wiring
// and the eigenvalues of circuits use gains, means and weights for values in full.
type Folded struct {
	store  *graph.Store
	model  *models.Model
	c      models.Spec
	frozen *stream.Frozen         // the stream's static form
	sites  map[string]stream.Site // by name
	ends   []end
	carry  *carrier
}

// Fold reads a model's weights. It returns an error for the depth-wise LSTM, whose heads write
// through gates and have no such form.
func Fold(store *graph.Store, spec models.Spec) (*Folded, error) { return foldFor(store, spec, nil) }

// foldFor does what Fold does, and carries writes as a run does, or without one as the stream's
// static form.
func foldFor(store *graph.Store, spec models.Spec, run *cache.Cache) (*Folded, error) {
	if err := CheckWeighted(spec); err != nil {
		return nil, err
	}
	m, err := cache.Sketch(store, spec)
	if err != nil {
		return nil, err
	}
	f := &Folded{store: store, model: m, c: spec, frozen: staticForm(m), sites: map[string]stream.Site{}}
	for l := range spec.Depth() {
		for _, site := range m.Stream().Sites(l) {
			f.sites[site.Name()] = site
		}
	}
	f.ends = f.listEnds()
	for site := range f.sites {
		if reads, writes := f.find(site, true), f.find(site, false); reads < 0 || writes < 0 {
			return nil, check.Value(site, "a site that reads and writes along weights", "another")
		}
	}
	f.carry, err = newCarrier(f, run)
	return f, err
}

// HeadWeights holds one head's weights; the norm is folded into the weights that read.
type HeadWeights struct {
	Layer, Head int
	Q, K, V     *mat.Dense // [D, Dh]; of a matrix stream keys [Dk, 1]
	O           *mat.Dense // [Dh, D]; of a matrix stream a key [1, Dk]
	// First is the part that a value residual adds to V: the weights with which the head of the
	// first attention reads the stream there; nil: nothing.
	First *mat.Dense
	// Values is the number of columns of the state to which the weights apply alike: Dv for a
	// matrix stream, 1 for all others.
	Values int
}

// Head returns a head's weights.
func (f *Folded) Head(layer, head int) (HeadWeights, error) {
	if err := checkHead(f.c, layer, head); err != nil {
		return HeadWeights{}, err
	}
	return f.layerHeads(layer)[head], nil
}

// checkHead returns an error for a layer or a head that a model does not have.
func checkHead(spec models.Spec, layer, head int) error {
	return cmp.Or(check.Index("layer", layer, spec.Depth()), check.Index("head", head, spec.HeadCount()))
}

// layerHeads returns all heads of a layer.
func (f *Folded) layerHeads(layer int) []HeadWeights {
	site := siteName(layer, stream.Attention)
	reader := f.end(site, true)
	read, write := reader.weights(), f.end(site, false).weights() // [W + 2 KV Dh, D], [W, D]
	all := make([]HeadWeights, f.c.HeadCount())
	width, d := write.Dims()
	dh := width / len(all)
	for h := range all {
		part := func(i int) *mat.Dense { return numerics.Transposed(f.headRows(read, i, h)) }
		all[h] = HeadWeights{Layer: layer, Head: h, Q: part(0), K: part(1), V: part(2),
			O: write.Slice(h*dh, (h+1)*dh, 0, d).(*mat.Dense), Values: reader.values}
	}
	if _, factor := f.valueFactors(layer); factor != 0 {
		for h, first := range f.layerHeads(0) {
			first.V.Scale(factor, first.V)
			all[h].First = first.V
		}
	}
	return all
}

// streamWidth returns the number of entries of a direction that sites read and write: D, or Dk.
func (f *Folded) streamWidth() int { return f.end(siteName(0, stream.Attention), true).size }
