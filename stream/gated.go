package stream

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/ops/mix"
	"github.com/residua-go/residua/graph/ops/norm"
	"github.com/residua-go/residua/graph/ops/shape"
	"github.com/residua-go/residua/layers"
)

// GatedResidualConfig describes a stream of gated residuals.
type GatedResidualConfig struct {
	Vectors
	N    int `yaml:"n" default:"4" max:"4096" help:"number of rows"`
	Rank int `yaml:"rank" default:"d_model*320/2048" max:"131072" help:"width of the hidden layer that makes the gates of a read; the source has 320 at d_model 2048"`
}

// The sizes of the source, whose rank is scaled with the width.
const (
	gatedRank  = 320
	gatedWidth = 2048
)

// Name is "gated-residual".
func (GatedResidualConfig) Name() string { return "gated-residual" }

// Card describes gated residuals.
func (GatedResidualConfig) Card() layers.Card {
	return layers.Card{
		Title: "Gated residual",
		Equation: "z = RMSNorm of each row of R;   G = sigmoid(W_up silu(W_down z / n));   s = 2 sigmoid(W_inject z / n)\n" +
			"u = 1/n sum_c G_c . z_c;   R_c <- R_c + s_c F(u)",
		Source: "Qwen4-Exp, arXiv 2608.30320; transformers' qwen4_exp",
		Use:    "Several rows that are never mixed: each entry of each row has a gate of the token's own when it is read, each row a factor when it is written. A read takes the place of the sublayers' norms and of the last one, so that `norm` chooses nothing here, and norm_eps is the reads'. It starts as no transformer: gates of about 1/2, factors of about 1, rows told apart by random weights. The projections cost parameters: rank and width make 2 n d_model rank a site.",
	}
}

// Defaults are 4 rows, and the source's rank scaled with the width.
func (c GatedResidualConfig) Defaults() Design {
	c.N = orDefault(c.N, defaultRows)
	c.Rank = orDefault(c.Rank, max(1, c.D*gatedRank/gatedWidth))
	return c
}

// Check wants a row and a rank of 1 at least.
func (c GatedResidualConfig) Check() error {
	if err := c.check(); err != nil {
		return err
	}
	return layers.CheckSizes(layers.Size{Key: "n", Value: c.N}, layers.Size{Key: "rank", Value: c.Rank})
}

// Shape is that of n rows.
func (c GatedResidualConfig) Shape() Shape { return c.shape(c.N * c.D) }

// readCost is that of a read whose projection down has k columns beyond the rank: the norm, both
// products and the gated sum, whose inputs are kept.
func (c GatedResidualConfig) readCost(k float64) layers.Cost {
	size, rank := float64(c.N)*float64(c.D), float64(c.Rank)
	return layers.NormConfig{}.Cost(size).Plus(layers.LinearCost(size, rank+k, false)).Plus(layers.LinearCost(rank, size, false)).
		Plus(layers.Cost{FLOPs: 2 * size, Activations: rank + k})
}

// Cost has a read and a write at each site, and a last read. The rows are kept before the first
// site and after each, with what is read and written.
func (c GatedResidualConfig) Cost() layers.Cost {
	d, _, blocks := c.counts()
	size := float64(c.N) * d
	site := c.readCost(float64(c.N)).Plus(layers.Cost{FLOPs: 2 * size, Activations: size + 2*d})
	return c.tablesCost(d).Plus(layers.ActivationCost(size)).Plus(c.headsCost().Plus(site.Times(2)).Times(blocks)).Plus(c.readCost(0))
}

// New is newGatedResidual.
func (c GatedResidualConfig) New(b *graph.Builder) Stream { return newGatedResidual(b, c) }

// gatedResidual is a stream of n rows R [n, D] that sites read and write by gates (Qwen4-Exp, arXiv
// 2608.30320). With z the rows, each divided by its own root mean square, times a gain [n, D],
//
//	G = sigmoid(W_up silu(W_down z / n));   u = 1/n sum_c G_c ⊙ z_c        G [n, D]
//	s = 2 sigmoid(W_inject z / n);          R_c <- R_c + s_c F(u)
//
// F has no norm in front of it. The rows start as copies of the embedding and are never mixed; a last
// read, without W_inject, gives the features, and there is no last norm. The W start at N(0, 0.02^2).
//
// Parameters of a site: "gated.norm" [n, D], "gated.down" [n*D, rank+n], which is W_down | W_inject,
// "gated.up" [rank, n*D]; of the last read the same without a site, "gated.down" [n*D, rank].
type gatedResidual struct {
	tables
	c         GatedResidualConfig
	attention []heads
	reads     []gatedRead // by Site.Index, and the last one
}

// gatedRead is a read's parameters.
type gatedRead struct {
	name           string         // of its hooks: the site's, or "gated"
	gain, down, up *gorgonia.Node // [n, D], [n*D, rank (+n)], [rank, n*D]
}

// gatedLink is a site's projection: what the write makes its factors of.
type gatedLink struct{ Projection *gorgonia.Node }

// newGatedResidual makes the parameters of a stream of gated residuals.
func newGatedResidual(b *graph.Builder, c GatedResidualConfig) *gatedResidual {
	s := &gatedResidual{tables: newTables(b, c.Vectors), c: c}
	for l := range c.Layers {
		sites := twoSites(l)
		for _, site := range sites {
			s.reads = append(s.reads, s.newRead(site.Name(), site.Name()+".gated", c.Rank, c.N))
		}
		s.attention = append(s.attention, newBareHeads(b, c.Vectors, sites[0].Name(), c.Init.Output))
	}
	s.reads = append(s.reads, s.newRead("gated", "gated", c.Rank))
	return s
}

// newRead makes the parameters of a read; the widths of what its projection down makes are given.
func (s *gatedResidual) newRead(name, parameters string, columns ...int) gatedRead {
	c, size, width := s.c, s.c.N*s.c.D, 0
	for _, n := range columns {
		width += n
	}
	down := graph.ParamSpec{Name: parameters + ".down", Shape: []int{size, width}, Init: graph.Normal(0.02), Decay: true, Role: graph.RoleHidden, Columns: columns}
	up := graph.ParamSpec{Name: parameters + ".up", Shape: []int{c.Rank, size}, Init: graph.Normal(0.02), Decay: true, Role: graph.RoleHidden}
	return gatedRead{name: name, gain: s.b.Param(layers.Gain(parameters+".norm", c.N, c.D)), down: s.b.Param(down), up: s.b.Param(up)}
}

// Embed makes n copies of the tokens' embedding.
func (s *gatedResidual) Embed(t Tokens) State {
	return multiState{s.b.Hook("embedding.out", shape.Copies(s.b, s.lookUp(t), s.c.N), "row", "feature")} // [T, n, D]
}

// Sites are attention and feed-forward.
func (s *gatedResidual) Sites(block int) []Site { return twoSites(block) }

// read is u [T, D] of the rows, and the projection [T, rank (+n)].
func (s *gatedResidual) read(state State, r gatedRead) (u, projection *gorgonia.Node) {
	z := norm.Apply(s.b, state.(multiState).H, r.gain, norm.Options{RMS: true, Eps: s.c.Norm.Eps, Groups: s.c.N}) // [T, n, D]
	projection = s.b.Hook(r.name+projectionHook, linear.Map(s.b, z, r.down, linear.Options{AddGradient: true}), "coefficient")
	return s.b.Hook(r.name+".read", mix.GatedRead(s.b, z, projection, r.up), "feature"), projection
}

// projectionHook ends the names of the hooks of what gates and factors are made of.
const projectionHook = ".projection"

// ReadHeads reads u, then W_QKV.
func (s *gatedResidual) ReadHeads(state State, at Site) (*gorgonia.Node, Link) {
	u, projection := s.read(state, s.reads[at.Index])
	return s.attention[at.Block].read(u), gatedLink{projection} // [T, 3W]
}

// WriteHeads writes W_O o to the rows.
func (s *gatedResidual) WriteHeads(state State, at Site, link Link, o *gorgonia.Node) State {
	return s.WriteFeatures(state, at, link, s.attention[at.Block].write(o))
}

// ReadFeatures reads u.
func (s *gatedResidual) ReadFeatures(state State, at Site) (*gorgonia.Node, Link) {
	u, projection := s.read(state, s.reads[at.Index])
	return u, gatedLink{projection}
}

// WriteFeatures writes y to the rows.
func (s *gatedResidual) WriteFeatures(state State, at Site, link Link, y *gorgonia.Node) State {
	y = s.b.Hook(at.Name()+".write", elementwise.Dropout(s.b, y, s.c.Dropout), "feature") // [T, D]
	r := mix.GatedWrite(s.b, state.(multiState).H, y, link.(gatedLink).Projection)        // [T, n, D]
	return multiState{s.b.Hook(at.Name()+".stream", r, "row", "feature")}
}

// EndBlock does nothing.
func (s *gatedResidual) EndBlock(state State, _ int) State { return state }

// Features is the last read.
func (s *gatedResidual) Features(state State) *gorgonia.Node {
	u, _ := s.read(state, s.reads[len(s.reads)-1])
	return u // [T, D]
}

// Form carries the rows as they are; A_down has a gate for each entry, B_up a factor for each row.
func (s *gatedResidual) Form(at Site) Form {
	r, n := s.reads[at.Index], s.c.N
	factors := nodeNames(r.gain, r.down)
	return Form{Site: at.Name(), Res: fixed(n, "n x n"),
		Down: Coefficient{Choice: Dependent, Rows: 1, Columns: n, Axes: "1 x n", Diagonal: true, Parameters: append(factors, r.up.Name()),
			Start: Start{Text: "about 1/2n for each entry, over its row's root mean square"}},
		Up: Coefficient{Choice: Dependent, Constraint: WithinTwo, Rows: n, Columns: 1, Axes: "n x 1", Parameters: factors,
			Start: Start{Text: "about 1"}},
		Beyond: []Term{{Text: "F has no norm: A_down h is normalised, and so are the features, one more read"}},
		Source: "Qwen4-Exp, arXiv 2608.30320"}
}
