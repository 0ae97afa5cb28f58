package stream

import (
	"math"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/layers"
)

// gemmaNorm is the kind of the norms of what is added.
func (c LaurelConfig) gemmaNorm() layers.NormConfig {
	return layers.NormConfig{RMS: true, Eps: c.Norm.Eps}
}

// gemmaCost is that of a site's norm and, at attention, of the map and its norm; norms keep what they normalise,
// the map what is between its halves.
func (c LaurelConfig) gemmaCost(attention bool) layers.Cost {
	d, r := float64(c.D), float64(c.Rank)
	cost := c.gemmaNorm().Cost(d)
	if attention {
		cost = cost.Times(2).Plus(layers.LinearCost(d, r, false)).Plus(layers.LinearCost(r, d, false)).Plus(layers.ActivationCost(r))
	}
	return cost
}

// gemma is LAuReL as Gemma 3n has it: with n = Norm(x),
//
//	attention: x <- (x + RMS_post(Attention(n)) + n + RMS_laurel(n A B)) / sqrt 2;   feed-forward: x <- x + RMS_post(FF(Norm(x)))
//
// Gains start at 1, maps as hidden weights do.
//
// Parameters of a site: "post" [D]; of an attention, too: "laurel.left" [D, r], "laurel.right" [r, D], "laurel.norm" [D].
type gemma struct {
	*Vector
	posts []*layers.Norm // by Site.Index
	low   []lowRank      // by Site.Block
}

// lowRank is a map of low rank of an attention's input, and its norm.
type lowRank struct {
	left, right *gorgonia.Node
	norm        *layers.Norm
}

// gemmaScale is the factor of the sum at an attention.
const gemmaScale = 1 / math.Sqrt2

// lowSuffix ends the hooks of what the maps give.
const lowSuffix = ".laurel.sum"

// newGemma makes the parameters of Gemma 3n's stream: those of a vector stream, norms and maps.
func newGemma(b *graph.Builder, c LaurelConfig) *gemma {
	g := &gemma{Vector: NewVector(b, VectorConfig{Vectors: c.Vectors})}
	for l := range c.Layers {
		for _, at := range g.Sites(l) {
			g.posts = append(g.posts, layers.NewNorm(b, at.Name()+".post", c.gemmaNorm(), c.D))
		}
		name := g.Sites(l)[0].Name() + ".laurel"
		g.low = append(g.low, lowRank{
			left:  b.Param(c.Init.Hidden(name+".left", c.D, c.WidthRatio, c.D, c.Rank)),
			right: b.Param(c.Init.Hidden(name+".right", c.Rank, c.WidthRatio, c.Rank, c.D)),
			norm:  layers.NewNorm(b, name+".norm", c.gemmaNorm(), c.D),
		})
	}
	return g
}

// ReadHeads is Norm, which the write has as its link, then W_QKV.
func (g *gemma) ReadHeads(s State, at Site) (*gorgonia.Node, Link) {
	h := g.attention[at.Block]
	n := h.norm.Forward(s.(VectorState).H) // [T, D]
	return h.read(n), n
}

// WriteHeads adds W_O o, normalised, the normalised input and what the map makes of it, over sqrt 2.
func (g *gemma) WriteHeads(s State, at Site, link Link, o *gorgonia.Node) State {
	n, low := link.(*gorgonia.Node), g.low[at.Block]
	m := linear.Map(g.b, linear.Map(g.b, n, low.left, linear.Options{}), low.right, linear.Options{}) // [T, D]
	m = low.norm.Forward(g.b.Hook(at.Name()+lowSuffix, m, "feature"))
	h := g.b.Add(s.(VectorState).H, g.post(at, g.HeadsOutput(at, o)), n, m)
	return VectorState{g.b.Hook(at.Name()+".stream", elementwise.Scale(g.b, h, gemmaScale), "feature")}
}

// WriteFeatures adds y, normalised.
func (g *gemma) WriteFeatures(s State, at Site, _ Link, y *gorgonia.Node) State {
	return VectorState{g.b.Hook(at.Name()+".stream", g.b.Add(s.(VectorState).H, g.post(at, y)), "feature")}
}

// post normalises what a sublayer gives.
func (g *gemma) post(at Site, y *gorgonia.Node) *gorgonia.Node {
	return g.posts[at.Index].Forward(g.b.Hook(at.Name()+".write", elementwise.Dropout(g.b, y, g.c.Dropout), "feature"))
}
