package report

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/analysis/corpus"
	"github.com/residua-go/residua/analysis/numerics"
	"github.com/residua-go/residua/analysis/sae"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/stats"
)

// Features shows where the features of an SAE are strongest. Its fields say of which SAE, in what
// text.
type Features struct {
	Texts             // by default 64 rows of validation text
	Folder     string `yaml:"sae" local:"true" help:"read the autoencoder of <DIR>: SAELens' folder, or Gemma Scope's params.npz"`
	Activation string `yaml:"name" help:"read activation <NAME>; without, the one that it was trained on"`
	Top        int    `yaml:"top" default:"20" min:"1" max:"1000000" help:"show the <N> strongest features"`
	Examples   int    `yaml:"examples" default:"3" min:"1" max:"1000" help:"show <N> texts of each feature"`
}

// Name is features.
func (Features) Name() string { return "features" }

// Card describes Features.
func (Features) Card() Card {
	return Card{
		Summary: "in which texts each feature of a sparse autoencoder is strongest, and whether it is one drawer",
		Example: `
			analyze features -checkpoint zoo:rmt -sae /tmp/sae -top 50
			analyze features -checkpoint zoo:rmt -sae SAELENS -name blocks.1.feedforward.stream`,
		Notes: `
			sae makes the folder. Of a matrix, what a feature adds is one drawer as far as it is the product
			of a key vector and a value vector.`,
	}
}

// feature is a feature with its strongest places.
type feature struct {
	Feature  int       `json:"feature"`
	Tokens   int       `json:"tokens"` // that have it
	Mean     float64   `json:"mean"`   // where it is
	Drawer   *float64  `json:"drawer,omitempty"`
	Examples []example `json:"examples"`
}

// example is a place where a feature is strong.
type example struct {
	Value float64 `json:"value"`
	Text  string  `json:"text"` // up to the token, which is in brackets, with the value
}

// featureList are the strongest features.
type featureList struct {
	Of     []feature `json:"of"`
	tokens int
}

// Run reports the features of an SAE.
func (o Features) Run(ctx context.Context, m *Model) (*Report, error) {
	s, err := sae.Open(o.Folder)
	if err != nil {
		return nil, err
	}
	s.Metadata.Name = cmp.Or(o.Activation, s.Metadata.Name)
	rows, note, err := o.Texts.orRows(ctx, m, probeRows)
	if err != nil {
		return nil, err
	}
	all := make([]feature, s.Features)
	q, of, err := measure(ctx, m, s, rows, func(row corpus.Row, features []float64) {
		for i, v := range features {
			if f, token := &all[i%s.Features], i/s.Features; v > 0 {
				f.Feature, f.Tokens, f.Mean = i%s.Features, f.Tokens+1, f.Mean+v
				if len(f.Examples) < o.Examples || v > f.Examples[o.Examples-1].Value {
					e := example{v, m.context(row.IDs, analysis.Example{Token: token, Value: v})}
					f.Examples = figure.Largest(append(f.Examples, e), o.Examples, func(e example) float64 { return e.Value })
				}
			}
		}
	})
	if err != nil {
		return nil, err
	}
	l := &featureList{tokens: q.Tokens}
	for _, f := range all {
		if f.Tokens > 0 {
			f.Mean /= float64(f.Tokens)
			l.Of = append(l.Of, f)
		}
	}
	r := m.NewReport("Features", nil)
	r.About += note
	r.Add("quality", "Quality", "On these texts.", q)
	if len(of.Shape) == 3 && len(l.Of) > 0 {
		r.Add("drawers", "Is a feature one drawer?", "How much of what a feature adds is the product of one key vector and one value vector.",
			drawers(s, l.Of, of.Values, of.Shape[1]))
	}
	l.Of = figure.Largest(l.Of, o.Top, func(f feature) float64 { return f.Examples[0].Value })
	r.Add("features", "Features", "The strongest features, and where they are strongest.", l)
	return r, nil
}

// Table lists the features.
func (l *featureList) Table() figure.Table {
	t := figure.NewTable("features", "rrrrl", "feature", "share of tokens", "mean", "drawer", "where it is strongest")
	t.Note = "mean: of its values where it is not 0. drawer: share of what it adds that is one key vector times one value vector."
	for _, f := range l.Of {
		drawer := any("")
		if f.Drawer != nil {
			drawer = *f.Drawer
		}
		for i, e := range f.Examples {
			if i == 0 {
				t.Row(f.Feature, float64(f.Tokens)/float64(l.tokens), f.Mean, drawer, e.Text)
			} else {
				t.Row("", "", "", "", e.Text)
			}
		}
	}
	return t
}

// drawerShares compares features with what they could be.
type drawerShares struct {
	Features    []float64 `json:"features"`
	Activations []float64 `json:"activations"` // minus their mean
	Random      []float64 `json:"random"`      // normal numbers
}

// drawers measures features, which must be alive, and the activations [tokens, keys, values] of a
// row.
func drawers(s *sae.SAE, of []feature, activations []float64, keys int) *drawerShares {
	d := &drawerShares{}
	for i := range of {
		share := largestShare(s.Direction(of[i].Feature), keys)
		of[i].Drawer = &share
		d.Features = append(d.Features, share)
	}
	tokens := len(activations) / s.Out
	mean := make([]float64, s.Out)
	for i, v := range activations {
		mean[i%s.Out] += v / float64(tokens)
	}
	draw := rand.New(rand.NewPCG(1, 0))
	for token := range tokens {
		x := slices.Clone(activations[token*s.Out:][:s.Out])
		floats.Sub(x, mean)
		d.Activations = append(d.Activations, largestShare(x, keys))
		d.Random = append(d.Random, largestShare(numerics.Gaussian(draw, 1, s.Out).RawMatrix().Data, keys))
	}
	return d
}

// largestShare returns the share of a matrix's squares that its largest singular value makes up; 0
// of zeros.
func largestShare(values []float64, rows int) float64 {
	var svd mat.SVD
	if !svd.Factorize(mat.NewDense(rows, len(values)/rows, values), mat.SVDNone) {
		return 0
	}
	singular := svd.Values(nil)
	return numerics.Ratio(singular[0]*singular[0], floats.Dot(singular, singular))
}

// Table compares medians.
func (d *drawerShares) Table() figure.Table {
	t := figure.NewTable("largest share in one drawer", "lrrr", "of", "number", "median", "highest")
	for i, all := range [][]float64{d.Features, d.Activations, d.Random} {
		t.Row([]string{"features", "activations minus their mean", "random matrices"}[i], len(all), stats.Median(all), slices.Max(all))
	}
	return t
}
