package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/figure"
)

// DirectionsOptions say where sparse directions are looked for, and on what text.
type DirectionsOptions struct {
	Prompt   // of any length: it is read in rows as long as those of training
	OverRows // in the place of Prompt
	analysis.DirectionsOptions
	Top int `yaml:"top" default:"20" min:"1" max:"1000000" help:"list the <N> sparsest"` // 0: 20
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
		newExampleList(m, found, rows, cmp.Or(o.Top, defaultTop)))
	return r, nil
}

// exampleList lists the sparsest directions with the tokens where they are large.
type exampleList struct {
	Directions []examples `json:"directions"`
}

// examples are a direction's.
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

// context is a token in brackets after the few before it.
func (m *Model) context(row []int32, e analysis.Example) string {
	const before = 8
	text := ""
	for _, id := range row[max(0, e.Token-before):e.Token] {
		text += m.text(int(id))
	}
	return fmt.Sprintf("%s[%s] %.1f", text, m.text(int(row[e.Token])), e.Value)
}

// Table has a row a direction.
func (l exampleList) Table() figure.Table {
	t := figure.NewTable("the sparsest directions, and the tokens at which they are largest", "rl", "kurtosis", "tokens")
	for _, d := range l.Directions {
		t.Row(d.Kurtosis, strings.Join(d.Tokens, "   "))
	}
	return t
}
