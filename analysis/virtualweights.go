package analysis

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/analysis/numerics"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
)

// VirtualWeights are the weights that connect two sites directly, through the stream (Elhage et al.
// 2021, "Virtual Weights and the Residual Stream as a Communication Channel"): the product of W_out
// [n, D], the rows along which the first writes, and W_in [D, m], the columns with which the second
// reads,
//
//	W_out M W_in  [n, m]
//
// with the weights of Folded. For a matrix stream X [Dk, Dv] they include values, not only keys:
//
//	W2 (K_write ⊗ I) C diag(g) (K_read ⊗ I)^T W1
//
// with gains g [Dk, Dv] and LayerNorm's C in full. W2 belongs to a feed-forward or is an
// embedding's table, W1 belongs to a feed-forward or is the unembedding. Heads have neither, since
// their entries are values: from head to head the virtual weights are Dv x Dv numbers, with w . (r
// ⊙ g[:, v]) on the diagonal.
//
// M is what becomes of a write on its way. It is the identity in vector, highway and matrix
// streams. In the others it is the mean, over the tokens of a run, of what stream.Frozen.CarryTo
// makes of a write with the coefficients of the run held fixed:
//
//	hyper, mhc and kin    a I, a the mean of A_down^T A_res ... A_res B_up
//	vwn                   A ⊗ I_d, A [m, m] the mean of such products, between slots of d entries
//	hieragg               a C diag(g_1) C diag(g_2) ..., the norms of the aggregates on the way, a
//	                      the mean of the products of 1/sigma and of how often a term is added up
//	denseformer           a I, a of the averages' weights
//	mudd                  a I, another one into q, k and v each, a the mean of products of the sums' weights
//
// Without a run a = 1 (mudd: from its weights' static part b), and A is the virtual width network's
// at the start: slot i is read where slot i mod m was written. W_E of such a network has rows of n
// slots and W_U includes the group norm and W_reduce; W_expand is a part of M.
type VirtualWeights struct {
	Writer  string `json:"writer"`
	Reader  string `json:"reader"`
	Rows    int    `json:"rows"`    // n
	Columns int    `json:"columns"` // m
	Alignment
	Values [][]float64 `json:"values,omitempty"` // W_out M W_in, where it is small enough to look at
}

// listedWeights is the largest number of entries of virtual weights that are listed as Values.
const listedWeights = 128 * 128

// Connect returns the virtual weights between a writer and a reader after it, by name; run may be
// nil. What writes is "embedding", "positions", "blocks.0.attention.1" (a head),
// "blocks.0.attention", "blocks.0.feedforward"; what reads "blocks.0.attention.1.q", ".k" and ".v",
// "blocks.0.attention.q" (of all heads), "blocks.0.feedforward", "unembedding".
func Connect(store *graph.Store, spec models.Spec, writer, reader string, run *cache.Cache) (*VirtualWeights, error) {
	f, err := foldFor(store, spec, run)
	if err != nil {
		return nil, err
	}
	w, err := find("writer", writer, f.writers(false), f.writers(true))
	if err != nil {
		return nil, err
	}
	r, err := find("reader", reader, f.readers(false), f.readers(true))
	if err != nil {
		return nil, err
	}
	if w.at >= r.at {
		return nil, check.Value("reader", "a reader after "+writer, reader+", which reads before it")
	}
	return f.carry.connect(w, r)
}

func (c *carrier) connect(w, r end) (*VirtualWeights, error) {
	v := &VirtualWeights{Writer: w.name(0), Reader: r.name(0), Rows: w.entries(), Columns: r.entries()}
	aligned, err := c.align(directionsOf(w), directionsOf(r))
	if err != nil {
		return nil, err
	}
	v.Alignment = aligned[0][0]
	if v.Rows*v.Columns > listedWeights {
		return v, nil
	}
	m := c.weights(w, r)
	for i := range v.Rows {
		v.Values = append(v.Values, m.RawRowView(i))
	}
	return v, nil
}

// weights returns W_out M W_in.
func (c *carrier) weights(w, r end) *mat.Dense {
	maps := c.between(w, r)
	if w.keyed == nil || r.keyed == nil {
		return numerics.Mul(maps.Rows(w.weights()), r.weights().T())
	}
	scale, _ := maps.Number() // no error: align has checked it
	m := linked(w.keyed.columns(), r.keyed.columns(), r.keyed.centred)
	m.Scale(scale, m)
	if w.keyed.weights != nil {
		m = numerics.Mul(w.keyed.weights(), m)
	}
	if r.keyed.weights != nil {
		m = numerics.Mul(m, r.keyed.weights().T())
	}
	return m
}

// Table says how strong the connection is.
func (v *VirtualWeights) Table() figure.Table {
	t := figure.NewTable(v.title(), "lr", "what", "value")
	t.Row("shape", fmt.Sprintf("%d x %d", v.Rows, v.Columns))
	t.Row("norm", v.Norm)
	t.Row("strength (norm / product of the norms)", v.Strength)
	t.Row("size of what arrives", v.Carry)
	t.Row("score", v.Score)
	t.Row("score of random weights, root mean square", v.Chance.rms())
	t.Row("p-value", fmt.Sprintf("%.2g", v.P))
	return t
}

func (v *VirtualWeights) title() string { return v.Writer + " to " + v.Reader }

// Figures returns a map of the weights if they are few enough to be seen.
func (v *VirtualWeights) Figures() []figure.Figure {
	if v.Values == nil {
		return nil
	}
	return []figure.Figure{figure.Heatmap{Title: "Virtual weights from " + v.title(), XLabel: "reads", YLabel: "writes", Values: v.Values, Diverging: true}}
}
