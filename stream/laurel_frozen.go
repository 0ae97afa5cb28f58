package stream

import (
	"fmt"

	"github.com/residua-go/residua/stream/linear"
)

// Form has the weights in A_res and B_up; maps and previous streams are beyond.
func (l *laurel) Form(at Site) Form {
	s, f := l.sites[at.Index], plainForm(at, "Menghani et al. 2025, arXiv 2411.07501 (LAuReL)")
	if s.weights != nil {
		start := l.c.WeightScale / 2
		weight := Coefficient{Choice: Learned, Rows: 1, Columns: 1, Axes: "1 x 1", Parameters: nodeNames(s.weights),
			Start: Start{Text: fmt.Sprintf("%g", start), Values: []float64{start}}}
		f.Res, f.Up = weight, weight
	}
	if added := nodeNames(s.gamma, s.left, s.right); added != nil {
		f.Beyond = []Term{{Text: "beta times a sum over streams before this site and earlier ones, of weights and maps of low rank", Parameters: added}}
	}
	return f
}

// Freeze carries x and the streams before earlier sites, one below the other, the last one's first: a site makes
// the next x of them. The weights are what they are: nothing is frozen but the last norm's scale.
func (l *laurel) Freeze(r Record) (*Frozen, error) { return l.freeze(r), nil }

// Static is Freeze: nothing depends on a run.
func (l *laurel) Static() *Frozen { return l.freeze(nil) }

func (l *laurel) freeze(r Record) *Frozen {
	d, rows := l.c.D, max(1, l.c.Previous)
	f, x := NewFrozen(r, d), linear.Row(rows, 0, d)
	f.writeTables(l.tables, linear.Transposed{Of: x})
	for block := range l.c.Layers {
		for _, site := range l.Sites(block) {
			f.Read(site.Name(), x, l.after(site))
			alpha, beta := l.weights(site)
			next := linear.Stack{linear.Chain{linear.Stack{x, l.frozenExtra(site, rows)}, linear.Rows(d, []float64{beta, beta})}}
			for j := range rows - 1 {
				next = append(next, linear.Row(rows, j, d))
			}
			f.Step(next)
			up := make([]float64, rows)
			up[0] = alpha
			f.Write(site.Name(), linear.Transposed{Of: linear.Rows(d, up)})
		}
	}
	f.Step(x)
	f.ReadOut(linear.Identity(d), thenNorm(l.b, l.norm))
	return f
}

// weights are alpha and beta of a site.
func (l *laurel) weights(at Site) (alpha, beta float64) {
	p := l.sites[at.Index].weights
	if p == nil {
		return 1, 1
	}
	w, c := values(l.b, p.Name()), l.c.WeightScale
	if l.c.Weights == laurelSoftmax {
		w = []float64{w[0] - w[1], w[1] - w[0]}
	}
	return c * logistic(w[0]), c * logistic(w[1])
}

// frozenExtra is s, of so many rows.
func (l *laurel) frozenExtra(at Site, rows int) linear.Map {
	site, d, rank, n := l.sites[at.Index], l.c.D, l.c.Rank, l.c.terms(at.Index)
	gamma := make([]float64, rows)
	if site.gamma == nil {
		gamma[0] = indicator(n > 0)
	} else {
		copy(gamma, values(l.b, site.gamma.Name()))
	}
	if rank == 0 {
		return linear.Rows(d, gamma)
	}
	left := values(l.b, site.left.Name())
	var parts linear.Stack
	for j := range n {
		w := table(d, rank, func(a, b int) float64 { return gamma[j] * left[(a*n+j)*rank+b] })
		parts = append(parts, linear.Chain{linear.Row(rows, j, d), linear.Matrix{W: w, In: d, Out: rank}})
	}
	return linear.Chain{parts, linear.Matrix{W: values(l.b, site.right.Name()), In: n * rank, Out: d}}
}

// Form has norms in all coefficients but a feed-forward's A_res.
func (g *gemma) Form(at Site) Form {
	f := plainForm(at, "Gemma 3n (transformers, Gemma3nTextLaurelBlock)")
	up := "1/std(F)"
	if at.Sublayer == Attention {
		low := g.low[at.Block]
		up += " / sqrt 2"
		f.Res = Coefficient{Choice: Dependent, Rows: 1, Columns: 1, Axes: "1 x 1", Parameters: nodeNames(g.attention[at.Block].norm.Gain()), Start: Start{Text: "(1 + 1/std(h)) / sqrt 2"}}
		f.Beyond = []Term{{Text: "RMSNorm of a map of low rank of Norm(h), over sqrt 2", Parameters: nodeNames(low.left, low.right, low.norm.Gain())}}
	}
	f.Up = Coefficient{Choice: Dependent, Diagonal: true, Rows: 1, Columns: 1, Axes: "1 x 1", Parameters: nodeNames(g.posts[at.Index].Gain()), Start: Start{Text: up}}
	return f
}

// FreezeHooks are what the norms read: of a site's output, of an attention's input and of the map's result.
func (g *gemma) FreezeHooks() []string {
	var names []string
	for l := range g.c.Layers {
		for _, site := range g.Sites(l) {
			names = append(names, site.Name()+".write")
		}
		names = append(names, g.input(l), g.Sites(l)[0].Name()+lowSuffix)
	}
	return names
}

// input is the hook of the stream that a block's attention reads.
func (g *gemma) input(block int) string {
	if block == 0 {
		return "embedding.out"
	}
	return lastSite(block).Name() + ".stream"
}

// Freeze carries x, and at an attention Norm(x), at the scale of the run, below it: both and the map's normalised
// result are added up.
func (g *gemma) Freeze(r Record) (*Frozen, error) {
	read, err := recorded(r, g.FreezeHooks())
	if err != nil {
		return nil, err
	}
	return g.freeze(r, read), nil
}

// Static has norms at scale 1.
func (g *gemma) Static() *Frozen { return g.freeze(nil, nil) }

func (g *gemma) freeze(r Record, read map[string][]float64) *Frozen {
	d := g.c.D
	f, one := NewFrozen(r, d), linear.Identity(d)
	f.writeTables(g.tables, one)
	for l := range g.c.Layers {
		for _, site := range g.Sites(l) {
			f.Read(site.Name(), one, g.after(site))
			factor := 1.
			if site.Sublayer == Attention {
				g.freezeAttention(f, site, read)
				factor = gemmaScale
			}
			post, _ := freezeNorm(g.b, g.posts[site.Index], read[site.Name()+".write"])
			f.Write(site.Name(), linear.Chain{linear.Rows(d, []float64{factor}), post})
		}
	}
	f.ReadOut(one, thenNorm(g.b, g.norm))
	return f
}

// freezeAttention makes n of x, and the next x of both.
func (g *gemma) freezeAttention(f *Frozen, site Site, read map[string][]float64) {
	d, low := g.c.D, g.low[site.Block]
	norm, bias := freezeNorm(g.b, g.attention[site.Block].norm, read[g.input(site.Block)])
	f.Step(linear.Stack{linear.Identity(d), norm})
	if bias != nil {
		f.Add(append(make([]float64, d), bias...))
	}
	rank := low.left.Shape()[1]
	after, _ := freezeNorm(g.b, low.norm, read[site.Name()+lowSuffix])
	x, n := linear.Row(2, 0, d), linear.Row(2, 1, d)
	f.Step(linear.Chain{linear.Stack{x, n, linear.Chain{n, linear.Matrix{W: values(g.b, low.left.Name()), In: d, Out: rank},
		linear.Matrix{W: values(g.b, low.right.Name()), In: rank, Out: d}, after}}, linear.Rows(d, []float64{gemmaScale, gemmaScale, gemmaScale})})
}
