package report

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/figure"
)

// Directions searches for sparse directions of an activation. Its fields say of which, and on what
// text.
type Directions struct {
	Prompt   // of any length; it is read in rows as long as in training
	OverRows // instead of Prompt
	analysis.DirectionsOptions
	Top int `yaml:"top" default:"20" min:"1" max:"1000000" help:"list the <N> sparsest"` // 0: 20
}

// Name is directions.
func (Directions) Name() string { return "directions" }

// Card describes Directions.
func (Directions) Card() Card {
	return Card{
		Summary: "a search for an interpretable basis: sparse directions, compared with random ones",
		Example: `
			analyze directions -checkpoint runs/quickstart -rows 64
			analyze directions -checkpoint runs/quickstart -rows 64 -name blocks.1.attention.stream -count 16 -out /tmp/directions`,
		Notes: `
			Independent component analysis (FastICA) of one activation on half of the text; the kurtosis
			along what it finds is measured on the other half, next to random and principal directions and
			the activation's own entries. A prompt may be of any length: it is read in rows.`,
	}
}

// Run reports sparse directions of an activation, and the tokens where they are large.
func (o Directions) Run(ctx context.Context, m *Model) (*Report, error) {
	rows, err := m.texts(ctx, o.Prompt, nil, o.Rows, 2)
	if err != nil {
		return nil, err
	}
	if rows == nil {
		ids, err := o.Prompt.encode(m, 2)
		if err != nil {
			return nil, err
		}
		rows = slices.Collect(slices.Chunk(ids, m.Spec.Seq))
	}
	found, err := analysis.FindDirections(ctx, m.Store, m.Spec, rows, o.DirectionsOptions)
	if err != nil {
		return nil, err
	}
	r := m.NewReport("Sparse directions", nil)
	r.Add("directions", "Found, random, principal and own directions",
		"Features that a model represents one by one would be directions along which most tokens are near 0 and a few far from it.", found)
	r.Add("examples", "Where they are large", "The tokens, after those before them, at which each of the sparsest directions is largest, in the half of "+
		"the text that it was not found on.",
		newExampleList(m, found, rows, o.Top))
	return r, nil
}

// exampleList lists the sparsest directions with the tokens where they are large.
type exampleList struct {
	Directions []examples `json:"directions"`
}

// examples holds the examples of a direction.
type examples struct {
	Kurtosis float64  `json:"kurtosis"`
	Tokens   []string `json:"tokens"` // each in brackets after the few before it, and its entry in standard deviations
}

func newExampleList(m *Model, found *analysis.Directions, rows [][]int32, top int) exampleList {
	var l exampleList
	for _, d := range found.Found[:min(top, len(found.Found))] {
		x := examples{Kurtosis: d.Kurtosis}
		for _, e := range d.Examples {
			x.Tokens = append(x.Tokens, m.context(rows[e.Row], e))
		}
		l.Directions = append(l.Directions, x)
	}
	return l
}

// context returns a token in brackets, after the few tokens before it.
func (m *Model) context(row []int32, e analysis.Example) string {
	const before = 8
	text := ""
	for _, id := range row[max(0, e.Token-before):e.Token] {
		text += m.text(int(id))
	}
	return fmt.Sprintf("%s[%s] %.1f", text, m.text(int(row[e.Token])), e.Value)
}

// Table has a row for each direction.
func (l exampleList) Table() figure.Table {
	t := figure.NewTable("the sparsest directions, and the tokens at which they are largest", "rl", "kurtosis", "tokens")
	t.Note = "kurtosis: how heavy the tails are of a direction's entries over the tokens; 3 is a Gaussian's. In brackets\n" +
		"the token, after it its entry in standard deviations."
	for _, d := range l.Directions {
		t.Row(d.Kurtosis, strings.Join(d.Tokens, "   "))
	}
	return t
}
