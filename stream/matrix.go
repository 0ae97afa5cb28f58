package stream

import (
	"cmp"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/readwrite"
	"github.com/residua-go/residua/layers"
)

// MatrixConfig describes a matrix stream.
type MatrixConfig struct {
	Common
	Dk   int `yaml:"dk" default:"required, or preset" max:"131072" help:"rows Dk of the stream, the key dimension"`
	Dv   int `yaml:"dv" default:"required, or preset" max:"131072" help:"columns Dv of the stream, the value dimension, and the size of a head"`
	Rank int `yaml:"rank" default:"required, or preset" max:"131072" help:"R, the number of heads, and of key vectors of a sublayer"`
}

// Name returns "matrix".
func (MatrixConfig) Name() string { return "matrix" }

// Card describes the RMT.
func (MatrixConfig) Card() layers.Card {
	return layers.Card{
		Title: "Residual Matrix Transformer",
		Equation: "q, k, v = r_QKV Norm(X);   X <- X + sum_h w_O[h] (x) o_h\n" +
			"u = r_FF Norm(X);          X <- X + sum_h w_FF[h] (x) y_h\n" +
			"logits = W_U vec(r_U Norm(X))          X is Dk x Dv",
		Source: "Mak and Flanigan 2025, arXiv 2506.22696, eq. 18-27",
		Use: "A stream that grows without the sublayers: key vectors store and retrieve rows of Dv, instead of W_QKV and W_O, so that a row of the " +
			"stream costs about 3 R (2L+1) parameters and little work. Best where parameters or FLOPs are short. It wants a higher rate than the transformer, " +
			"and its state, Dk*Dv a token, is memory traffic at every site.",
	}
}

// Check returns an error for a size below 1, and for settings of attention's heads, which the
// stream sets.
func (c MatrixConfig) Check() error { return c.check(c.Name()) }

// check does the work of Check, with the design's name for the errors.
func (c MatrixConfig) check(name string) error {
	switch {
	case c.Heads != 0:
		return layers.Setting(headsKey, "want nothing for the %s stream, whose heads are model.stream.rank, got %d: remove it", name, c.Heads)
	case c.HeadDim != 0:
		return layers.Setting(headDimKey, "want nothing for the %s stream, whose heads have model.stream.dv entries, got %d: remove it", name, c.HeadDim)
	}
	return cmp.Or(layers.CheckSize("dk", c.Dk), layers.CheckSize("dv", c.Dv), layers.CheckSize("rank", c.Rank))
}

// kvHeads returns the number of heads of keys and values.
func (c MatrixConfig) kvHeads() int { return orDefault(c.KVHeads, c.Rank) }

// readShape returns the shape of the keys that read queries, keys and values: [3, R, Dk], or [R + 2
// KV, Dk] if heads share keys and values.
func (c MatrixConfig) readShape() []int {
	if kv := c.kvHeads(); kv < c.Rank {
		return []int{c.Rank + 2*kv, c.Dk}
	}
	return []int{3, c.Rank, c.Dk}
}

// Shape returns the shape of a stream of one matrix for each token. Blocks work on R vectors
// of Dv entries.
func (c MatrixConfig) Shape() Shape {
	return Shape{Heads: c.Rank, HeadDim: c.Dv, KVHeads: c.kvHeads(), Width: c.Rank * c.Dv, Axes: []string{"rank", "value"}, Size: c.Dk * c.Dv,
		TableWidth: c.Rank * c.Dv,
		Sublayers:  c.sublayers(), Options: []string{ResidualScaleKey, ParallelKey}}
}

// Cost counts as the RMT paper does (Table 7, with its sums corrected): keys 3 R Dk (2L+1), gains
// (2L+1) Dk Dv; without feed-forwards, keys R Dk (4L+3) and gains (L+1) Dk Dv. Stores and reads
// cost 2 R Dk Dv each: 3+1 at an attention (1 + 2 KV/R + 1 if heads share keys and values), 1+1 at
// a feed-forward, 1 each at the embedding, the positions and the end. In a block, X at both sites,
// u and y are kept; outside blocks, the rows from each table, and X at the end (the loss uses the
// features in its own pass).
func (c MatrixConfig) Cost() layers.Cost {
	l, dv, rank, x := float64(c.Layers), float64(c.Dv), float64(c.Rank), float64(c.Dk)*float64(c.Dv)
	width := rank * dv
	inputs := 1.0 // stores at the embedding
	if c.Positions > 0 {
		inputs = 2
	}
	sites := l * float64(len(c.sublayers()))
	norms := c.Norm.Cost(x).Times(sites + 1)
	if !c.Norm.Bias {
		norms.Activations = 0 // without a bias a norm and its read are one pass
	}
	keys := (2*sites*rank + 2*l*float64(c.kvHeads()) + (inputs+1)*rank) * float64(c.Dk)
	total := layers.EmbeddingCost(float64(c.Vocab)+float64(c.Positions), width).Plus(norms, layers.Cost{Parameters: keys, FLOPs: 2 * keys * dv})
	total = total.Plus(layers.ActivationCost(sites*x + 2*(sites-l)*width + inputs*width + x))
	if c.Blocks.Parallel {
		total.Activations -= l * x
	}
	if c.Dropout > 0 || c.Blocks.ResidualScale != 0 {
		total = total.Plus(layers.ActivationCost(l * width)) // the heads' output after dropout and scale
	}
	return total
}

// New makes the parameters of a matrix stream.
func (c MatrixConfig) New(b *graph.Builder) Stream {
	return newMatrix(b, c, func(at Site, reads []int) (read, write keyVectors) {
		return keyVectors{static: b.Param(keys(graph.RoleReadKeys, c.Init.Hidden(at.Name()+".read", c.Dk, c.KeyRatio, reads...)))},
			keyVectors{static: b.Param(keys(graph.RoleWriteKeys, c.Init.Output(at.Name()+".write", c.Rank, c.RankRatio, c.Rank, c.Dk)))}
	})
}

// Ratios compares the sizes of keys, rank and values.
func (c MatrixConfig) Ratios(base Design) Ratios {
	other := base.(MatrixConfig)
	dv := orDefault(other.Dv, c.Dv)
	r := Unscaled(dv)
	r.KeyRatio, r.RankRatio = ratio(c.Dk, other.Dk), ratio(c.Rank, other.Rank)
	r.WidthRatio = r.RankRatio * ratio(c.Dv, dv)
	return r
}

// WidthScalings returns four ways to grow. muP treats keys [R, Dk] as hidden weights, which is
// right if R and Dk grow together ("") or neither does ("dv"). If only R grows ("rank"), more and
// more vectors are written to the same Dk rows: keys of N(0, 1/R) meet rows of the embedding that
// training aligns with them. By this argument the change of X grows as sqrt(R/Dk) even under muP,
// and the measurements show this growth. If only Dk grows ("dk"), the same argument holds for
// reads, but only slopes of 0.1 were measured.
func (MatrixConfig) WidthScalings() []WidthScaling {
	base := MatrixConfig{Dk: 32, Dv: 8, Rank: 8}
	return []WidthScaling{
		{Scales: "dk, rank (heads and keys a site) and feed-forward: stream Dk*Dv and features R*Dv", Base: base,
			Keys: []string{"stream.dk", "stream.rank", hiddenKey}},
		{Name: "dv", Scales: "dv (a head's size) and feed-forward: stream Dk*Dv and features R*Dv", Base: base, Keys: []string{"stream.dv", hiddenKey}},
		{Name: "rank", Scales: "rank and feed-forward: features R*Dv, the stream as it is; muP does not fit", Base: base, Keys: []string{"stream.rank", hiddenKey}},
		{Name: "dk", Scales: "dk alone: the stream Dk*Dv, features as they are", Base: base, Keys: []string{"stream.dk"}},
	}
}

// matrix is the residual stream of the Residual Matrix Transformer (Mak & Flanigan 2025,
// arXiv 2506.22696): each token has an outer-product memory X, Dk x Dv, that sublayers
// read and write with key vectors,
//
//	X_0 = sum_h w_E[h] (x) e_h + w_PE[h] (x) p_h                        (eq. 18-19)
//	q, k, v = r_{Q,K,V} Norm(X);   X <- X + sum_h w_O[h] (x) o_h        (eq. 20, 22)
//	u = r_FF Norm(X);              X <- X + sum_h w_FF[h] (x) y_h       (eq. 23-25)
//	features = r_U Norm(X)                                              (eq. 27)
//
// The norm is taken over all Dk*Dv entries jointly. The state's H is X [T, Dk, Dv].
type matrix struct {
	carrier
	b                        *graph.Builder
	c                        MatrixConfig
	embedding, positions     *layers.Embedding
	writeEmbedding, writePos *gorgonia.Node // [R, Dk]
	sites                    []keyedSite    // by Site.Index
	norm                     *layers.Norm
	readUnembedding          *gorgonia.Node // [R, Dk]
}

// keyedSite is the norm and the keys by which one sublayer reads and writes the stream.
type keyedSite struct {
	norm        *layers.Norm
	read, write keyVectors
}

// newMatrix makes the parameters of a matrix stream; newKeys makes a site's keys, and reads is the
// shape of the keys that read.
func newMatrix(b *graph.Builder, c MatrixConfig, newKeys func(at Site, reads []int) (read, write keyVectors)) *matrix {
	m := &matrix{b: b, c: c, embedding: layers.NewEmbedding(b, "embedding", c.Init, c.InputScale, c.Vocab, c.Rank, c.Dv)}
	m.carrier.carry = m.carryOn // without the convolution of what is written: keys are to stay keys
	writes := func(name string) *gorgonia.Node {
		return b.Param(keys(graph.RoleWriteKeys, c.Init.Hidden(name, c.Rank, c.RankRatio, c.Rank, c.Dk)))
	}
	m.writeEmbedding = writes("write_embedding")
	if c.Positions > 0 {
		m.positions = layers.NewEmbedding(b, "positions", c.Init, 1, c.Positions, c.Rank, c.Dv)
		m.writePos = writes("write_positions")
	}
	for _, at := range c.AllSites() {
		reads := []int{c.Rank, c.Dk}
		if at.Sublayer == Attention {
			reads = c.readShape()
		}
		site := keyedSite{norm: layers.NewNorm(b, at.Name()+".norm", c.Norm, c.Dk, c.Dv)}
		site.read, site.write = newKeys(at, reads)
		m.sites = append(m.sites, site)
	}
	m.norm = layers.NewNorm(b, "norm", c.Norm, c.Dk, c.Dv)
	m.readUnembedding = b.Param(keys(graph.RoleReadKeys, c.Init.Hidden("read_unembedding", c.Dk, c.KeyRatio, c.Rank, c.Dk)))
	return m
}

// keys describes weights that are key vectors.
func keys(role graph.Role, p graph.ParamSpec) graph.ParamSpec {
	p.Role = role
	return p
}

// Embed stores the tokens' and the positions' rows (eq. 18-19).
func (m *matrix) Embed(t Tokens) State {
	e := m.b.Hook(tokenRows, m.embedding.Forward(t.IDs), "rank", "value") // [T, R, Dv]
	x := readwrite.Write(m.b, nil, m.writeEmbedding, e)                   // [T, Dk, Dv]
	if m.positions != nil {
		p := m.b.Hook(positionRows, m.positions.Forward(t.Positions), "rank", "value") // [T, R, Dv]
		x = readwrite.Write(m.b, x, m.writePos, p)                                     // [T, Dk, Dv]
	}
	return m.state("embedding.out", elementwise.Dropout(m.b, x, m.c.Dropout))
}

// state returns the stream X [T, Dk, Dv], after giving it the hook name.
func (m *matrix) state(name string, x *gorgonia.Node) State {
	return VectorState{H: m.b.Hook(name, x, "key", "value")}
}

// Sites lists attention and feed-forward, or attention alone.
func (m *matrix) Sites(block int) []Site { return m.c.sites(block) }

// ReadHeads reads queries, keys and values of heads of Dv entries (eq. 22): [T, 3, R, Dv] or [T,
// R + 2 KV, Dv].
func (m *matrix) ReadHeads(s State, at Site) (*gorgonia.Node, Link) { return m.ReadFeatures(s, at) }

// WriteHeads stores the heads' outputs (eq. 20).
func (m *matrix) WriteHeads(s State, at Site, link Link, o *gorgonia.Node) State {
	return m.WriteFeatures(s, at, link, o)
}

// ReadFeatures reads R vectors of Dv entries (eq. 25); the link is the token's own keys for the
// write, if it has any.
func (m *matrix) ReadFeatures(s State, at Site) (*gorgonia.Node, Link) {
	site, x := m.sites[at.Index], s.(VectorState).H
	if site.read.w == nil {
		return site.norm.Read(x, site.read.static), nil // [T, R, Dv]
	}
	xn := site.norm.Forward(x) // [T, Dk, Dv]
	own := site.write.of(m.b, xn)
	return readwrite.ReadEach(m.b, xn, site.read.of(m.b, xn)), own // [T, m, Dv]
}

// WriteFeatures stores y, R vectors of Dv entries (eq. 23).
func (m *matrix) WriteFeatures(s State, at Site, link Link, y *gorgonia.Node) State {
	x := s.(VectorState).H
	y = elementwise.Dropout(m.b, m.c.Common.Written(at, y), m.c.Dropout)
	if c := m.c.Blocks.ResidualScale; c != 0 {
		y = elementwise.Scale(m.b, y, c)
	}
	store := func(x *gorgonia.Node) *gorgonia.Node { // [T, Dk, Dv]
		if own, ok := link.(*gorgonia.Node); ok {
			return readwrite.WriteEach(m.b, x, own, y)
		}
		return readwrite.Write(m.b, x, m.sites[at.Index].write.static, y)
	}
	if name := at.Name() + ".write"; m.b.Hooked(name) {
		x = m.b.Add(x, m.b.Hook(name, store(nil), "key", "value"))
	} else {
		x = store(x)
	}
	return m.state(at.Name()+".stream", x)
}

// EndBlock does nothing.
func (m *matrix) EndBlock(s State, _ int) State { return s }

// Features reads R vectors from the normalised stream (eq. 27).
func (m *matrix) Features(s State) *gorgonia.Node {
	return m.norm.Read(s.(VectorState).H, m.readUnembedding) // [T, R, Dv]
}

// Table returns E [V, R, Dv].
func (m *matrix) Table() *gorgonia.Node { return m.embedding.Table() }

// Form describes a site of a matrix of Dk rows: keys read R vectors (3R for attention) and write R.
func (m *matrix) Form(at Site) Form {
	heads, width := "3R", 3*m.c.Rank
	if kv := m.c.kvHeads(); kv < m.c.Rank {
		heads, width = "(R + 2 KV)", m.c.Rank+2*kv
	}
	if at.Sublayer == FeedForward {
		heads, width = "R", m.c.Rank
	}
	site := m.sites[at.Index]
	f := Form{
		Site: at.Name(),
		Res:  fixed(m.c.Dk, "Dk x Dk"),
		Down: site.read.coefficient(m.b, width, m.c.Dk, heads+" x Dk"),
		Up:   site.write.coefficient(m.b, m.c.Dk, m.c.Rank, "Dk x R"),
		Beyond: []Term{{"the norm is over all rows together and stands before A_down: F(A_down Norm(h))",
			[]string{at.Name() + ".norm"}}},
		Source: "Mak & Flanigan 2025, arXiv 2506.22696",
	}
	if site.read.w != nil {
		f.Source += "; Zhu et al. 2024, arXiv 2409.19606"
	}
	return f
}
