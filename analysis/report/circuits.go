package report

import (
	"cmp"
	"slices"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/figure"
)

// CircuitsOptions say whose circuits are taken.
type CircuitsOptions struct {
	Prompt // for the coefficients of a stream that mixes what was written; no other stream asks
	Place
	// Full is nil for true.
	Full *bool `yaml:"full" bare:"true" help:"take the circuits from token to token, too; -full=false: don't, for large models (default true)"`
	Top  int   `yaml:"top" default:"20" min:"1" max:"1000000" help:"list <N> heads, those that copy most first"` // 0: 20
}

// Circuits reports the QK and OV circuits of heads, or of one head of one layer.
func Circuits(m *Model, o CircuitsOptions) (*Report, error) {
	at, err := o.Place.in(m.Spec)
	if err != nil {
		return nil, err
	}
	r, run, err := onWeights(m, analysis.AnalysisCircuits, "Circuits of heads", o.Prompt)
	if err != nil {
		return nil, err
	}
	found, err := analysis.FindCircuits(m.Store, m.Spec, analysis.CircuitOptions{Run: run, WithoutVocabulary: o.Full != nil && !*o.Full})
	if err != nil {
		return nil, err
	}
	if at.one() {
		head, err := found.Head(at.layer, at.head)
		if err != nil {
			return nil, err
		}
		r.Add("head", head.Name(), "The eigenvalues of a head's circuits: OV says what it writes of what it attends to, QK what it attends to.", head)
		return r, nil
	}
	p := r.Add("circuits", "Circuits", "The heads that copy most first.", found)
	p.Table = copyingHeads(p.Table, found.Heads, at, cmp.Or(o.Top, defaultTop))
	composition, err := analysis.Compose(m.Store, m.Spec, run)
	if err != nil || len(composition.Pairs) == 0 {
		return r, err
	}
	r.Add("composition", "Composition", "How much of what a head writes a head of a later layer reads: as queries, as keys, as values.", composition)
	return r, nil
}

// copyingHeads lists the heads at a place, those that copy most first.
func copyingHeads(like figure.Table, heads []analysis.HeadCircuits, at place, top int) figure.Table {
	chosen := slices.DeleteFunc(slices.Clone(heads), func(h analysis.HeadCircuits) bool { return !at.has(h.Layer, h.Head) })
	slices.SortStableFunc(chosen, func(a, b analysis.HeadCircuits) int { return cmp.Compare(copying(b), copying(a)) })
	t := figure.Table{Title: like.Title, Header: like.Header, Align: like.Align, Note: like.Note}
	for _, h := range chosen[:min(top, len(chosen))] {
		row := []string{h.Name(), number(h.OV.Score), number(h.QK.Score), "", ""}
		if h.FullOV != nil {
			row[3], row[4] = number(h.FullOV.Score), number(h.FullQK.Score)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// copying is a head's copying score, or that of OV alone without the full circuits.
func copying(h analysis.HeadCircuits) float64 {
	if h.FullOV != nil {
		return h.FullOV.Score
	}
	return h.OV.Score
}
