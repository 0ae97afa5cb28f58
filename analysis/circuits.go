package analysis

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
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
	// plain residual. The function Run makes such a run, with all activations that are needed.
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
func FindCircuits(ctx context.Context, store *graph.Store, spec models.Spec, o CircuitOptions) (*Circuits, error) {
	f, err := foldFor(store, spec, o.Run)
	if err != nil {
		return nil, err
	}
	circuits := &Circuits{Stream: f.c.Stream.Name(), Layers: f.c.Depth(), Each: f.c.HeadCount(), Values: f.end(siteName(0, stream.Attention), true).values}
	var v *vocabulary
	if !o.WithoutVocabulary {
		v = newVocabulary(f)
	}
	for l := range f.c.Depth() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := circuits.addLayer(f, v, l); err != nil {
			return nil, err
		}
		if v != nil && o.Draws > 0 {
			if err := circuits.addChance(ctx, f, v, l, o); err != nil {
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

// eigenvaluesShown is the number of heads whose eigenvalues are plotted.
const eigenvaluesShown = 4

// Table lists the heads' scores. If there are many heads, it lists those with the largest copying
// scores.
func (c *Circuits) Table() figure.Table {
	t := figure.NewTable("Circuits", "lrrrrrrrr", "head", "OV score", "QK score",
		"copying (full OV)", "at random", "p", "matching (full QK)", "at random", "p")
	t.Note = "OV: what a head writes of what it attends to; QK: what it attends to. A score sums up a circuit's\n" +
		"eigenvalues, from -1 to 1: 1 where all are positive numbers. copying: above 0, what a head attends to\n" +
		"becomes likelier to follow. matching: above 0, a token attends to tokens like itself. Both are from token to\n" +
		"token, through the vocabulary. at random: the score (mean ± standard deviation) of the same weights rotated at\n" +
		"random, among the same vocabulary; p: the probability of a score as far from 0 by chance." + c.keyedNote()
	shown := c.shown
	if shown == nil {
		shown = c.strongest(listed, everyHead)
	}
	for _, h := range shown {
		t.Row(slices.Concat([]any{h.Name(), h.OV.Score, h.QK.Score}, h.FullOV.cells(), h.FullQK.cells())...)
	}
	return t
}

// cells returns a full circuit's score and its chance; empty texts if the circuit was not computed.
func (s *CircuitSpectrum) cells() []any {
	switch {
	case s == nil:
		return []any{"", "", ""}
	case s.Chance == nil:
		return []any{s.Score, "", ""}
	}
	return []any{s.Score, s.Chance.String(), fmt.Sprintf("%.2g", s.Chance.P)}
}

// keyedNote explains the OV and QK scores of heads with keys.
func (c *Circuits) keyedNote() string {
	if c.Values == 1 {
		return ""
	}
	return "\nA head with keys treats all values alike: its scores of OV and QK are hardly more than the sign of a product of\n" +
		"two keys. The full circuits tell more."
}

// Show makes Table list the n heads that copy most among the chosen ones.
func (c *Circuits) Show(n int, chosen func(layer, head int) bool) { c.shown = c.strongest(n, chosen) }

func everyHead(layer, head int) bool { return true }

// strongest returns the n heads that copy most among the chosen ones.
func (c *Circuits) strongest(n int, chosen func(layer, head int) bool) []HeadCircuits {
	some := slices.DeleteFunc(slices.Clone(c.Heads), func(h HeadCircuits) bool { return !chosen(h.Layer, h.Head) })
	return figure.Largest(some, n, HeadCircuits.copying)
}

// copying returns the score of the full OV circuit, or of OV if that was not computed.
func (h HeadCircuits) copying() float64 {
	if h.FullOV != nil {
		return h.FullOV.Score
	}
	return h.OV.Score
}

// Figures returns maps of the scores, with a row for each layer, and plots the eigenvalues of
// the heads that copy most in the complex plane.
func (c *Circuits) Figures() []figure.Figure {
	figures := []figure.Figure{
		c.scores("OV circuits: sum Re(eigenvalues) / sum |eigenvalues|", func(h HeadCircuits) float64 { return h.OV.Score }),
		c.scores("QK circuits: sum Re(eigenvalues) / sum |eigenvalues|", func(h HeadCircuits) float64 { return h.QK.Score }),
	}
	if c.Heads[0].FullOV == nil {
		return figures
	}
	strongest := c.strongest(eigenvaluesShown, everyHead)
	return append([]figure.Figure{
		c.scores("Copying scores, of the full OV circuits", func(h HeadCircuits) float64 { return h.FullOV.Score }),
		c.scores("Matching scores, of the full QK circuits", func(h HeadCircuits) float64 { return h.FullQK.Score }),
		complexPlane("Eigenvalues of the full OV circuits that copy most", strongest, func(h HeadCircuits) *CircuitSpectrum { return h.FullOV }),
	}, figures...)
}

// scores maps a score of the heads.
func (c *Circuits) scores(title string, score func(HeadCircuits) float64) figure.Heatmap {
	m := figure.Heatmap{Title: title, XLabel: "head", YLabel: "layer", Diverging: true, Limits: []float64{-1, 1}}
	for l := range c.Layers {
		row := make([]float64, c.Each)
		for h := range row {
			row[h] = score(c.Heads[l*c.Each+h])
		}
		m.Values = append(m.Values, row)
	}
	return m
}

// complexPlane plots one spectrum of each head in the complex plane.
func complexPlane(title string, heads []HeadCircuits, of func(HeadCircuits) *CircuitSpectrum) figure.Lines {
	lines := figure.NewLines(title, "real part", "imaginary part")
	for _, h := range heads {
		s := figure.Series{Name: h.Name(), Points: true}
		for _, v := range of(h).Eigenvalues {
			s.Add(v.Re, v.Im)
		}
		lines.Series = append(lines.Series, s)
	}
	return lines
}

// spectra are a head's circuits with their names.
func (h HeadCircuits) spectra() ([]string, []*CircuitSpectrum) {
	names, all := []string{"OV", "QK"}, []*CircuitSpectrum{&h.OV, &h.QK}
	if h.FullOV != nil {
		names, all = append(names, "full OV", "full QK"), append(all, h.FullOV, h.FullQK)
	}
	return names, all
}

// Table lists a head's circuits with their largest eigenvalues.
func (h HeadCircuits) Table() figure.Table {
	t := figure.NewTable(h.Name(), "lrrrrl", "circuit", "score", "at random", "norm", "eigenvalues", "largest")
	names, all := h.spectra()
	for i, s := range all {
		largest := ""
		for _, v := range s.Eigenvalues[:min(eigenvaluesShown, len(s.Eigenvalues))] {
			largest += fmt.Sprintf("%.3g%+.3gi  ", v.Re, v.Im)
		}
		t.Row(names[i], s.Score, s.Chance.String(), s.Norm, len(s.Eigenvalues), largest)
	}
	return t
}

// Figures are the eigenvalues of each circuit in the complex plane.
func (h HeadCircuits) Figures() []figure.Figure {
	var figures []figure.Figure
	names, all := h.spectra()
	for i, s := range all {
		figures = append(figures, complexPlane("Eigenvalues of "+names[i], []HeadCircuits{h}, func(HeadCircuits) *CircuitSpectrum { return s }))
	}
	return figures
}
