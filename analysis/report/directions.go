package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/figure"
)

// DirectionsOptions say where sparse directions are looked for, and on what text.
type DirectionsOptions struct {
	Prompt     // of any length: it is read in rows as long as those of training
	Rows   int // in the place of Prompt: so many rows of the model's validation text
	Top    int // how many of the sparsest are listed; 0: 20
	analysis.DirectionsOptions
}

// Directions reports sparse directions of an activation, and the tokens where they are large.
func Directions(m *Model, o DirectionsOptions) (*Report, error) {
	rows, err := m.texts(o.Prompt, nil, o.Rows, 2)
	if err != nil {
		return nil, err
	}
	if rows == nil {
		ids, err := o.Prompt.read(m, 2, true)
		if err != nil {
			return nil, err
		}
		rows = slices.Collect(slices.Chunk(ids, m.Spec.Seq))
	}
	found, err := analysis.FindDirections(m.Store, m.Spec, rows, o.DirectionsOptions)
	if err != nil {
		return nil, err
	}
	r := on(m, analysis.AnalysisDirections, "Sparse directions", nil)
	r.Add("directions", "Found, random, principal and own directions",
		"Features that a model represents one by one would be directions along which most tokens are near 0 and a few far from it.", found)
	r.Add("examples", "Where they are large", "The tokens, after those before them, at which each of the sparsest directions is largest, in the half of the text that it was not found on.",
		exampleList{m, found, rows, cmp.Or(o.Top, defaultTop)})
	return r, nil
}

// exampleList lists the sparsest directions with the tokens where they are large.
type exampleList struct {
	model *Model
	found *analysis.Directions
	rows  [][]int32
	top   int
}

// Table has a row a direction.
func (l exampleList) Table() figure.Table {
	t := figure.Table{Title: "the sparsest directions, and the tokens at which they are largest", Header: []string{"kurtosis", "tokens"}, Align: "rl"}
	for _, d := range l.found.Found[:min(l.top, len(l.found.Found))] {
		text := ""
		for _, e := range d.Examples {
			text += l.context(e) + "  "
		}
		t.Row(number(d.Kurtosis), text)
	}
	return t
}

// context is a token in brackets after the few before it.
func (l exampleList) context(e analysis.Example) string {
	const before = 4
	row, text := l.rows[e.Row], ""
	for _, id := range row[max(0, e.Token-before):e.Token] {
		text += l.model.text(int(id))
	}
	return fmt.Sprintf("%s[%s] %.1f", text, l.model.text(int(row[e.Token])), e.Value)
}

// Figures are none.
func (exampleList) Figures() []figure.Figure { return nil }

// MarshalJSON writes nothing: the directions have their examples.
func (exampleList) MarshalJSON() ([]byte, error) { return []byte("null"), nil }
