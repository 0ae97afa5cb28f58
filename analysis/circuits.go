package analysis

import (
	"cmp"

	"github.com/residua-go/residua/analysis/cache"
	"github.com/residua-go/residua/analysis/check"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// HeadCircuits are one head's circuits (Elhage et al. 2021, "Splitting attention head terms
// into circuits"), with the weights of Folded:
//
//	OV = W_V W_O        QK = W_Q W_K^T                                        [D, D]
//	full OV = W_E M W_V W_O M' W_U    full QK = W_E M W_Q W_K^T M^T W_E^T     [V, V]
//
// where W_U = C diag(g) W_unembed has the final norm folded in, and M and M' are what becomes
// of a write on the way from the embedding to the head and from the head to the end: I for
// vector and highway streams, see VirtualWeights for all others. No matrix of D x D or V x V
// is made: the Dh x Dh products below have the same eigenvalues except for zeros,
//
//	W_O W_V,   W_K^T W_Q,   W_O M' W_U W_E M W_V,   W_K^T M^T W_E^T W_E M W_Q
//
// A matrix stream's head is a tensor product: it acts on the keys of X [Dk, Dv] and leaves
// values as they are,
//
//	OV = C diag(g) (r_V ⊗ w_O) ⊗ I     QK = C diag(g) ((r_Q ⊗ r_K) ⊗ I) diag(g) C
//
// except for the norm, whose gains g [Dk, Dv] and C are used in full, not as a mean over values.
// Each circuit has at most Dv eigenvalues that are not 0, computed from Dv x Dv products. Without
// gains and C they are all the same number, r_V . w_O or r_Q . r_K, so that a score is hardly more
// than its sign. A token a is stored as sum_h w_E[h] ⊗ e_a[h], the head reads v_a = sum_h (r_V .
// w_E[h]) e_a[h] from it, and the logits of what it writes are sum_h (r_U[h] . w_O) v_a W_U[h]: the
// full circuits [V, V] have rank Dv, too, and different eigenvalues.
type HeadCircuits struct {
	Layer int             `json:"layer"`
	Head  int             `json:"head"`
	OV    CircuitSpectrum `json:"ov"`
	QK    CircuitSpectrum `json:"qk"`
	// FullOV.Score is the copying score, above 0 where what a head attends to becomes
	// likelier. FullQK.Score is above 0 where tokens attend to tokens like themselves.
	FullOV *CircuitSpectrum `json:"full_ov,omitempty"`
	FullQK *CircuitSpectrum `json:"full_qk,omitempty"`
}

// Name returns "blocks.3.attention.1".
func (h HeadCircuits) Name() string { return headName(h.Layer, h.Head) }

// headName is "blocks.3.attention.1".
func headName(layer, head int) string {
	return stream.PartName(siteName(layer, stream.Attention), stream.HeadPart, head)
}

// Circuits are the circuits of all heads of a model.
type Circuits struct {
	Stream string         `json:"stream"`
	Values int            `json:"values"` // Dv of a matrix stream, whose heads treat all values alike; else 1
	Layers int            `json:"layers"`
	Each   int            `json:"heads_per_layer"`
	Heads  []HeadCircuits `json:"heads"` // layer by layer
	shown  []HeadCircuits // in the table; nil: see Table
}

// CircuitOptions vary FindCircuits.
type CircuitOptions struct {
	// Run says what becomes of writes in a stream that mixes them (VirtualWeights); nil: a
	// plain residual. The function Run keeps what it takes.
	Run *cache.Cache
	// WithoutVocabulary leaves the full circuits out, whose V x F products take some seconds
	// in a model of 50257 ids.
	WithoutVocabulary bool
	// Draws is the number of random heads of each layer by which the chance of the full circuits'
	// scores is found; 0: none.
	Draws int
	Seed  uint64 // of these
}

// FindCircuits computes the circuits of all heads.
func FindCircuits(store *graph.Store, c models.Spec, o CircuitOptions) (*Circuits, error) {
	f, err := foldFor(store, c, o.Run)
	if err != nil {
		return nil, err
	}
	circuits := &Circuits{Stream: f.c.Stream.Name(), Layers: f.c.Depth(), Each: f.c.HeadCount(), Values: f.end(siteName(0, stream.Attention), true).values}
	var v *vocabulary
	if !o.WithoutVocabulary {
		v = newVocabulary(f)
	}
	for l := range f.c.Depth() {
		if err := circuits.addLayer(f, v, l); err != nil {
			return nil, err
		}
		if v != nil && o.Draws > 0 {
			if err := circuits.addChance(f, v, l, o); err != nil {
				return nil, err
			}
		}
	}
	return circuits, nil
}

// addLayer adds the heads of a layer; without a vocabulary it leaves out their full circuits.
func (c *Circuits) addLayer(f *Folded, v *vocabulary, layer int) error {
	for _, w := range f.layerHeads(layer) {
		h, err := f.headKeys(w).circuits(w)
		if err == nil && v != nil {
			err = v.add(&h, w)
		}
		if err != nil {
			return err
		}
		c.Heads = append(c.Heads, h)
	}
	return nil
}

// Head returns one head's circuits.
func (c *Circuits) Head(layer, head int) (*HeadCircuits, error) {
	if err := cmp.Or(check.Index("layer", layer, c.Layers), check.Index("head", head, c.Each)); err != nil {
		return nil, err
	}
	return &c.Heads[layer*c.Each+head], nil
}
