package stream

import (
	"math"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream/linear"
)

// gemmaNorm returns the settings of the norms that are applied to what is added.
func (c LaurelConfig) gemmaNorm() layers.NormConfig {
	return layers.NormConfig{RMS: true, Eps: c.Norm.Eps}
}

// gemmaCost returns the cost of a site's norm and, at attention, of the map and its norm. A norm
// keeps what it normalises; the map keeps what lies between its two halves.
func (c LaurelConfig) gemmaCost(at Site) layers.Cost {
	d, r := float64(c.D), float64(c.Rank)
	cost := c.gemmaNorm().Cost(d)
	if at.Sublayer == Attention {
		cost = cost.Plus(cost, layers.LinearCost(d, r, false), layers.LinearCost(r, d, false), layers.ActivationCost(r))
	}
	return cost
}

// gemma is LAuReL in the form of Gemma 3n: with n = Norm(x),
//
//	attention: x <- (x + RMS_post(Attention(n)) + n + RMS_laurel(n A B)) / sqrt 2;   feed-forward: x <- x + RMS_post(FF(Norm(x)))
//
// Gains start at 1, maps like hidden weights.
//
// Parameters of a site: "post" [D]; of an attention also "laurel.left" [D, r], "laurel.right" [r,
// D], "laurel.norm" [D].
type gemma struct {
	*Vector
	posts []*layers.Norm // by Site.Index
	low   []lowRank      // by Site.Block
}

// lowRank is a map of low rank that an attention's input passes through, and its norm.
type lowRank struct {
	left, right *gorgonia.Node
	norm        *layers.Norm
}

// gemmaScale is the factor of the sum at an attention.
const gemmaScale = 1 / math.Sqrt2

// lowSuffix is the end of the names of hooks of the maps' outputs.
const lowSuffix = ".laurel.sum"

// newGemma makes the parameters of Gemma 3n's stream: those of a vector stream, norms and maps.
func newGemma(b *graph.Builder, c LaurelConfig) *gemma {
	g := &gemma{Vector: newVector(b, c.Vectors)}
	g.Use(g)
	for l := range c.Layers {
		for _, at := range g.Sites(l) {
			g.posts = append(g.posts, layers.NewNorm(b, at.Name()+".post", c.gemmaNorm(), c.D))
		}
		name := g.Sites(l)[0].Name() + ".laurel"
		g.low = append(g.low, lowRank{
			left:  g.weight(name+".left", c.D, c.Rank),
			right: g.weight(name+".right", c.Rank, c.D),
			norm:  layers.NewNorm(b, name+".norm", c.gemmaNorm(), c.D),
		})
	}
	return g
}

// Write adds the normalised y and, at an attention, the normalised input and the map of it, and
// divides the sum by sqrt 2.
func (g *gemma) Write(s State, at Site, from Reading, y *gorgonia.Node) State {
	state := s.(VectorState)
	h := state.H
	if at.Sublayer == FeedForward {
		return state.with(g.Hook(at, ".stream", g.b.Add(h, g.post(at, y))))
	}
	low, n := g.low[at.Block], from.Normal
	m := low.norm.Forward(g.Hook(at, lowSuffix, mapped(g.b, mapped(g.b, n, low.left, nil), low.right, nil))) // [T, D]
	return state.with(g.Hook(at, ".stream", elementwise.Scale(g.b, g.b.Add(h, g.post(at, y), n, m), gemmaScale)))
}

// post normalises a sublayer's output.
func (g *gemma) post(at Site, y *gorgonia.Node) *gorgonia.Node {
	return g.posts[at.Index].Forward(g.Written(at, y))
}

// Form describes the site: norms make all coefficients but a feed-forward's A_res depend on the
// input.
func (g *gemma) Form(at Site) Form {
	f, up := plainForm(at, "Gemma 3n (transformers, Gemma3nTextLaurelBlock)"), "1/std(F)"
	if at.Sublayer == Attention {
		low := g.low[at.Block]
		up += " / sqrt 2"
		f.Res = Dependent.coefficient(1, 1, "1 x 1", Start{Text: "(1 + 1/std(h)) / sqrt 2"}, g.attention[at.Block].norm.Gain())
		f.Beyond = []Term{{"RMSNorm of a map of low rank of Norm(h), over sqrt 2", nodeNames(low.left, low.right, low.norm.Gain())}}
	}
	f.Up = Dependent.diagonal(1, 1, "1 x 1", Start{Text: up}, g.posts[at.Index].Gain())
	return f
}

// Carry carries x from site to site.
func (g *gemma) Carry(f *Frozen) {
	one := linear.Identity(g.c.D)
	read := embeddingHook
	g.CarrySites(f, one, func(at Site) {
		g.carrySite(f, at, 1, read)
		read = at.Name() + ".stream"
	})
	g.CarryEnd(f, one)
}

// carrySite adds a site that reads and writes x, which is the first of the given number of rows and
// which the hook named read recorded. At an attention, a step replaces x by the sum, scaled, of x,
// n = Norm(x) and the normalised result of the map.
func (g *gemma) carrySite(f *Frozen, at Site, rows int, read string) {
	x := firstOf(rows, g.c.D)
	f.Read(at.Name(), x, g.After(at))
	factor := 1.
	if at.Sublayer == Attention {
		g.carryAttention(f, at, rows, read)
		factor = gemmaScale
	}
	post, _ := g.normOf(f, g.posts[at.Index], at.Name()+".write")
	f.Write(at.Name(), linear.Chain{linear.Rows(g.c.D, []float64{factor}), post, transposed(x)})
}

// carryAttention adds the two steps of an attention: from x, which the hook named read recorded, to
// n below the rows, and from x and n to the next x.
func (g *gemma) carryAttention(f *Frozen, at Site, rows int, read string) {
	d, low := g.c.D, g.low[at.Block]
	norm, bias := g.thenNorm(g.attention[at.Block].norm)(f.Recorded(read, d))
	f.Step(linear.Stack{linear.Identity(rows * d), linear.Chain{firstOf(rows, d), norm}})
	if bias != nil {
		f.Add(append(make([]float64, rows*d), bias...))
	}
	after, _ := g.normOf(f, low.norm, at.Name()+lowSuffix)
	row := func(i int) linear.Map { return linear.Row(rows+1, i, d) }
	n := row(rows)
	next := linear.Stack{linear.Chain{linear.Stack{row(0), n, linear.Chain{n, g.matrix(low.left), g.matrix(low.right), after}},
		linear.Rows(d, []float64{gemmaScale, gemmaScale, gemmaScale})}}
	for i := 1; i < rows; i++ {
		next = append(next, row(i))
	}
	f.Step(next)
}
