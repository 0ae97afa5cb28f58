package stream

import (
	"cmp"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/ops/mix"
	"github.com/residua-go/residua/graph/ops/norm"
	"github.com/residua-go/residua/layers"
)

// GatedResidualConfig describes a stream of gated residuals.
type GatedResidualConfig struct {
	Vectors
	N    int `yaml:"n" default:"4" max:"4096" help:"number of rows"`
	Rank int `yaml:"rank" default:"d_model*320/2048" max:"131072" help:"width of the hidden layer that makes a read's gates; the source has 320 at d_model 2048"`
}

// The sizes in the source; the rank is scaled with the width.
const (
	gatedRank  = 320
	gatedWidth = 2048
)

// Name returns "gated-residual".
func (GatedResidualConfig) Name() string { return "gated-residual" }

// Card describes gated residuals.
func (GatedResidualConfig) Card() layers.Card {
	return layers.Card{
		Title: "Gated residual",
		Equation: "z = RMSNorm of each row of R;   G = sigmoid(W_up silu(W_down z / n));   s = 2 sigmoid(W_inject z / n)\n" +
			"u = 1/n sum_c G_c . z_c;   R_c <- R_c + s_c F(u)",
		Source: "Qwen4-Exp, arXiv 2608.30320; transformers' qwen4_exp",
		Use: "Several rows that are never mixed: each entry of each row has a gate of the token's own when it is read, each row a factor when it is " +
			"written. A read takes the place of the sublayers' norms and of the last one, so that `norm` chooses nothing here, and norm_eps is the reads'. It " +
			"starts as no transformer: gates of about 1/2, factors of about 1, rows told apart by random weights. The projections cost parameters: rank and " +
			"width make 2 n d_model rank a site.",
	}
}

// Defaults sets 4 rows, and the source's rank scaled with the width.
func (c GatedResidualConfig) Defaults() Design {
	c.N = orDefault(c.N, defaultRows)
	c.Rank = orDefault(c.Rank, max(1, c.D*gatedRank/gatedWidth))
	return c
}

// Check returns an error unless there is at least one row and the rank is at least 1.
func (c GatedResidualConfig) Check() error {
	return cmp.Or(c.Vectors.Check(), layers.CheckSize("n", c.N), layers.CheckSize("rank", c.Rank))
}

// Shape returns the shape of a stream of N rows, whose blocks have no norms of their own.
func (c GatedResidualConfig) Shape() Shape {
	s := c.shape(c.N * c.D)
	s.Options = []string{ResidualScaleKey, HeadBiasesKey}
	return s
}

// readCost returns the cost of a read whose projection down has k more columns than the rank: the
// norm, both products and the gated sum, which keeps its inputs.
func (c GatedResidualConfig) readCost(k float64) layers.Cost {
	size, rank := float64(c.N)*float64(c.D), float64(c.Rank)
	return layers.NormConfig{}.Cost(size).Plus(layers.LinearCost(size, rank+k, false), layers.LinearCost(rank, size, false),
		layers.Cost{FLOPs: 2 * size, Activations: rank + k})
}

// Cost counts a read and a write at each site, and a last read. The rows are kept before the first
// site and after each, with what is read and written.
func (c GatedResidualConfig) Cost() layers.Cost {
	d, _, blocks := c.counts()
	size := float64(c.N) * d
	site := c.readCost(float64(c.N)).Plus(layers.Cost{FLOPs: 2 * size, Activations: size + 2*d})
	return c.tablesCost(d).Plus(layers.ActivationCost(size), c.headsCost().Plus(site.Times(2)).Times(blocks), c.readCost(0))
}

// New makes the parameters of a stream of gated residuals.
func (c GatedResidualConfig) New(b *graph.Builder) Stream {
	s := &gatedResidual{Vector: startVector(b, c.Vectors), config: c}
	for l := range c.Layers {
		for _, at := range s.Sites(l) {
			s.addRead(at.Name(), at.Name()+".gated", c.Rank, c.N)
		}
		s.addBlock(l, false, c.Init.Output)
	}
	s.addRead(gatedEnd, gatedEnd, c.Rank)
	s.Use(s)
	return s
}

// gatedResidual is a stream of n rows R [n, D] that sites read and write by gates (Qwen4-Exp, arXiv
// 2608.30320). With z the rows, each divided by its own root mean square, times a gain [n, D],
//
//	G = sigmoid(W_up silu(W_down z / n));   u = 1/n sum_c G_c ⊙ z_c        G [n, D]
//	s = 2 sigmoid(W_inject z / n);          R_c <- R_c + s_c F(u)
//
// F has no norm in front of it. The rows start as copies of the embedding and are never mixed; a
// last read, without W_inject, gives the features, and there is no last norm. The W start at N(0,
// 0.02^2).
//
// Parameters of a site: "gated.norm" [n, D], "gated.down" [n*D, rank+n], which is W_down |
// W_inject, "gated.up" [rank, n*D]; of the last read the same without a site, "gated.down" [n*D,
// rank].
type gatedResidual struct {
	*Vector // without norms
	config  GatedResidualConfig
	reads   []gatedRead // by Site.Index, and the last one
}

// gatedRead is a read's parameters.
type gatedRead struct {
	name           string         // prefix of its hooks: the site's name, or "gated"
	gain, down, up *gorgonia.Node // [n, D], [n*D, rank (+n)], [rank, n*D]
}

// gatedEnd is the name of the last read.
const gatedEnd = "gated"

// addRead makes the parameters of a read; columns are the widths of the parts of its projection
// down.
func (s *gatedResidual) addRead(name, parameters string, columns ...int) {
	c, size, width := s.config, s.config.N*s.c.D, 0
	for _, n := range columns {
		width += n
	}
	weight := func(end string, columns []int, shape ...int) graph.ParamSpec {
		return graph.ParamSpec{Name: parameters + end, Shape: shape, Init: graph.Normal(0.02), Decay: true, Role: graph.RoleHidden, Columns: columns}
	}
	s.reads = append(s.reads, gatedRead{name, s.b.Param(layers.Gain(parameters+".norm", c.N, c.D)),
		s.b.Param(weight(".down", columns, size, width)), s.b.Param(weight(".up", nil, c.Rank, size))})
}

// Embed makes n copies of the tokens' embedding.
func (s *gatedResidual) Embed(t Tokens) State { return s.embedCopies(t, s.config.N) }

// readBy returns u [T, D], read from the rows, and the projection [T, rank (+n)].
func (s *gatedResidual) readBy(state State, r gatedRead) (u, projection *gorgonia.Node) {
	z := norm.Apply(s.b, state.(VectorState).H, r.gain, norm.Options{RMS: true, Eps: s.c.Norm.Eps, Groups: s.config.N}) // [T, n, D]
	projection = s.b.Hook(r.name+projectionHook, linear.Map(s.b, z, r.down, linear.Options{AddGradient: true}), "coefficient")
	return s.b.Hook(r.name+".read", mix.GatedRead(s.b, z, projection, r.up), "feature"), projection
}

// projectionHook is the end of the names of hooks of the projections, from which gates and factors
// are computed.
const projectionHook = ".projection"

// Read reads u; the link is the projection, from which the write computes its factors.
func (s *gatedResidual) Read(state State, at Site) (*gorgonia.Node, Link) {
	return s.readBy(state, s.reads[at.Index])
}

// Write writes y to the rows.
func (s *gatedResidual) Write(state State, at Site, from Reading, y *gorgonia.Node) State {
	r := mix.GatedWrite(s.b, state.(VectorState).H, s.Written(at, y), from.Link.(*gorgonia.Node)) // [T, n, D]
	return VectorState{H: s.Hook(at, ".stream", r, "row", "feature")}
}

// End makes the last read.
func (s *gatedResidual) End(state State) *gorgonia.Node {
	u, _ := s.readBy(state, s.reads[len(s.reads)-1])
	return u // [T, D]
}

// Form describes rows that are carried unchanged; A_down has a gate for each entry, B_up a factor
// for each row.
func (s *gatedResidual) Form(at Site) Form {
	r, n := s.reads[at.Index], s.config.N
	f := Form{Site: at.Name(), Res: fixed(n, "n x n"), Source: "Qwen4-Exp, arXiv 2608.30320",
		Down:   Dependent.diagonal(1, n, "1 x n", Start{Text: "about 1/2n for each entry, over its row's root mean square"}, r.gain, r.down, r.up),
		Up:     Dependent.coefficient(n, 1, "n x 1", Start{Text: "about 1"}, r.gain, r.down),
		Beyond: []Term{{Text: "F has no norm: A_down h is normalised, and so are the features, one more read"}}}
	f.Up.Constraint = WithinTwo
	return f
}
