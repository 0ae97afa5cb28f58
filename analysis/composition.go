package analysis

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/analysis/numerics"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/stream"
)

// Composition measures how much of what each head writes the heads of later layers read (Elhage et
// al. 2021, "Analyzing a Two-Layer Model"), by Frobenius norms of circuits:
//
//	Q: ||OV_i M QK_j|| / (||OV_i|| ||QK_j||)    as queries
//	K: ||OV_i M QK_j^T|| / (||OV_i|| ||QK_j||)  as keys
//	V: ||OV_i M OV_j|| / (||OV_i|| ||OV_j||)    as values
//
// with the weights of Folded and M = I, except in streams that mix what was written (see
// VirtualWeights). No matrix of D x D circuits is made for them: OV_i has the norms of R_V W_O
// [Dh, D], with W_V = Q R_V, and so on.
//
// In a matrix stream the circuits are of keys and the scores cosines, |w_O,i . r_Q,j| /
// (|w_O,i| |r_Q,j|) and so on; of the whole matrices, with the identity on Dv values, they
// would be 1/sqrt(Dv) of that.
type Composition struct {
	Stream string     `json:"stream"`
	Heads  []string   `json:"heads"` // names, layer by layer
	Pairs  []HeadPair `json:"pairs"`
	// Chance is the root mean square of the scores that the circuits have after being rotated at
	// random against each other: 1/sqrt(D) or 1/sqrt(Dk) if M = I.
	Chance float64 `json:"chance"`
}

// HeadPair is a head and a head of a later layer.
type HeadPair struct {
	From int     `json:"from"` // index of Composition.Heads
	To   int     `json:"to"`
	Q    float64 `json:"q"`
	K    float64 `json:"k"`
	V    float64 `json:"v"`
}

// strongest returns the largest of the pair's scores.
func (p HeadPair) strongest() float64 { return max(p.Q, p.K, p.V) }

// Compose scores all pairs of heads; run may be nil (see CircuitOptions).
func Compose(ctx context.Context, store *graph.Store, spec models.Spec, run *cache.Cache) (*Composition, error) {
	f, err := foldFor(store, spec, run)
	if err != nil {
		return nil, err
	}
	composition := &Composition{Stream: f.c.Stream.Name(), Chance: 1 / math.Sqrt(float64(f.streamWidth()))}
	var writers []*directions
	for l := range f.c.Depth() {
		composition.Heads = append(composition.Heads, f.headNames(siteName(l, stream.Attention))...)
		heads := f.layerHeads(l)
		readers := f.circuitReaders(l, heads)
		for i, w := range writers {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if err := composition.add(i, l, w, readers, f.carry); err != nil {
				return nil, err
			}
		}
		writers = append(writers, f.circuitWriter(l, heads))
	}
	return composition, nil
}

// circuitWriter returns R_V W_O of a layer's heads, which have the norms of OV = W_V W_O: W_V = Q
// R_V with orthonormal columns of Q.
func (f *Folded) circuitWriter(layer int, heads []HeadWeights) *directions {
	return f.circuitEnd(layer, "", heads, func(h HeadWeights) *mat.Dense { return numerics.Mul(numerics.Triangle(h.V), h.O) })
}

// circuitReaders returns R_K W_Q^T, R_Q W_K^T and R_O W_V^T of a layer's heads, which have the
// norms of QK, QK^T and OV when they read: ||x W_Q W_K^T|| = ||x W_Q R_K^T||.
func (f *Folded) circuitReaders(layer int, heads []HeadWeights) [3]*directions {
	return [3]*directions{
		f.circuitEnd(layer, "q", heads, func(h HeadWeights) *mat.Dense { return numerics.Mul(numerics.Triangle(h.K), h.Q.T()) }),
		f.circuitEnd(layer, "k", heads, func(h HeadWeights) *mat.Dense { return numerics.Mul(numerics.Triangle(h.Q), h.K.T()) }),
		f.circuitEnd(layer, "v", heads, func(h HeadWeights) *mat.Dense { return numerics.Mul(numerics.Triangle(h.O.T()), h.V.T()) }),
	}
}

// circuitEnd stacks the rows of all heads of a layer and returns their directions. The heads
// write or, if via is "q", "k" or "v", read as queries, keys or values.
func (f *Folded) circuitEnd(layer int, via string, heads []HeadWeights, rows func(HeadWeights) *mat.Dense) *directions {
	site := siteName(layer, stream.Attention)
	e := f.inHeads(f.end(site, false), false)
	if via != "" {
		e.source = f.sourceOf(site, via)
	}
	var all []float64
	for _, h := range heads {
		all = append(all, rows(h).RawMatrix().Data...)
	}
	e.count = len(all) / e.size
	e.weights, e.keyed = func() *mat.Dense { return mat.NewDense(e.count, e.size, all) }, nil
	return directionsOf(e)
}

// add scores each head of a layer with each of a later one.
func (c *Composition) add(from, to int, w *directions, readers [3]*directions, carry *carrier) error {
	var scores [3][][]Alignment
	for i, r := range readers {
		var err error
		if scores[i], err = carry.align(w, r); err != nil {
			return err
		}
	}
	heads := len(w.parts)
	for a := range heads {
		for b := range heads {
			c.Pairs = append(c.Pairs, HeadPair{From: from*heads + a, To: to*heads + b, Q: scores[0][a][b].Strength, K: scores[1][a][b].Strength,
				V: scores[2][a][b].Strength})
		}
	}
	return nil
}

// Table lists the pairs that compose most, each by the strongest of its three ways.
func (c *Composition) Table() figure.Table {
	t := figure.NewTable("Composition of heads", "llrrrr", "writes", "reads", "Q", "K", "V", "times random")
	t.Note = "Q, K, V: how much of what the first head writes the second reads for its queries, keys and values, from 0 to\n" +
		"1. times random: the largest of the three divided by that of circuits rotated at random."
	for _, p := range figure.Largest(c.Pairs, listed, HeadPair.strongest) {
		t.Row(c.Heads[p.From], c.Heads[p.To], p.Q, p.K, p.V, p.strongest()/c.Chance)
	}
	return t
}

// Figures returns a map of each of the three scores, with a row for each writing head and a
// column for each reading one; it returns none for a model of one layer.
func (c *Composition) Figures() []figure.Figure {
	if len(c.Pairs) == 0 {
		return nil
	}
	return []figure.Figure{
		c.scores("Q-composition", func(p HeadPair) float64 { return p.Q }),
		c.scores("K-composition", func(p HeadPair) float64 { return p.K }),
		c.scores("V-composition", func(p HeadPair) float64 { return p.V }),
	}
}

func (c *Composition) scores(title string, of func(HeadPair) float64) figure.Heatmap {
	m := figure.Heatmap{Title: title, XLabel: "reads", YLabel: "writes", Rows: c.Heads, Columns: c.Heads, Values: blankMap(len(c.Heads), len(c.Heads))}
	for _, p := range c.Pairs {
		m.Values[p.From][p.To] = of(p)
	}
	return m
}
