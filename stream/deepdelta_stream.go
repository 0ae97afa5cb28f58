package stream

import (
	"fmt"
	"math"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/delta"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/ops/shape"
	"github.com/residua-go/residua/layers"
)

// deepDelta is a stream of dv rows that sublayers write to by the delta rule (Zhang et al. 2026,
// arXiv 2601.00417). X [dv, D] starts as dv copies of the embedding. At every site, with F a
// sublayer without its norm,
//
//	x = read(X);   xn = Norm(x);   y = F(xn);   k = y / sqrt(|y|^2 + k_eps^2)
//	beta = 2 sigmoid(w_b . xn + b_b);   v = v_scale sigmoid(W_v x + b_v)      v from x, not from xn
//	X[c] <- X[c] + beta (v[c] - k . X[c]) k
//
// With dv = 1 a read is X itself. Otherwise it is a causal convolution over positions with a filter
// for each entry, and a weighted sum of rows; positions before a row's first token count as zero, and
// where documents are masked those of another document, too (the authors' code masks none):
//
//	read(X)_t = sum over c of r[c] sum over lags j of f[taps-1-j, c] ⊙ X_(t-j)[c]
//
// The sites of a block share one read; the last one is followed by Norm. As in the authors' code
// w_b, W_v and f start from N(0, 1/(4 D)), b_v uniform in +-1/sqrt(D), b_b at logit(beta0/2), r at
// 1/dv; r, b_b and b_v do not decay.
//
// Parameters of a site: "delta.beta.w" [1, D], "delta.beta.b" [1], "delta.v.w" [dv, D], "delta.v.b"
// [dv]; of a block "compress.read" [dv] and "compress.conv" [taps, dv, D], likewise at the end.
type deepDelta struct {
	tables
	c         DeepDeltaConfig
	attention []heads
	features  []*layers.Norm
	writes    []deltaWrite // by Site.Index
	reads     []deltaRead  // of each block, and of the end; none with dv = 1
	norm      *layers.Norm
}

// deltaWrite are the parameters of a site's gate and values.
type deltaWrite struct{ gate, gateBias, values, valuesBias *gorgonia.Node }

// deltaRead are the parameters of a read.
type deltaRead struct{ rows, filter *gorgonia.Node } // filter nil: none

// deltaState is the stream X [T, dv, D], or [T, D] with dv = 1.
type deltaState struct {
	X      *gorgonia.Node
	seq    int            // tokens a row
	starts *gorgonia.Node // of documents, or nil
}

// Nodes returns X.
func (s deltaState) Nodes() gorgonia.Nodes { return gorgonia.Nodes{s.X} }

// deltaLink is what a site read, x [T, D], and that normalised.
type deltaLink struct{ x, normal *gorgonia.Node }

// newDeepDelta makes the parameters of a deep-delta stream.
func newDeepDelta(b *graph.Builder, c DeepDeltaConfig) *deepDelta {
	s := &deepDelta{tables: newTables(b, c.Vectors), c: c}
	for l := range c.Layers {
		if c.Dv > 1 {
			s.reads = append(s.reads, newDeltaRead(b, c, fmt.Sprintf("blocks.%d.%s", l, compressName)))
		}
		sites := twoSites(l)
		for _, site := range sites {
			s.writes = append(s.writes, newDeltaWrite(b, c, site.Name()+".delta"))
		}
		s.attention = append(s.attention, newDeltaHeads(b, c, sites[0].Name()))
		s.features = append(s.features, layers.NewNorm(b, sites[1].Name()+".norm", c.Norm, c.D))
	}
	if c.Dv > 1 {
		s.reads = append(s.reads, newDeltaRead(b, c, compressName))
	}
	s.norm = layers.NewNorm(b, "norm", c.Norm, c.D)
	return s
}

// compressName is the name of a read's parameters, after its block's.
const compressName = "compress"

// newDeltaHeads makes the projections around an attention, whose output's norm does not matter.
func newDeltaHeads(b *graph.Builder, c DeepDeltaConfig, name string) heads {
	norm := layers.NewNorm(b, name+".norm", c.Norm, c.D)
	h := newBareHeads(b, c.Vectors, name, c.Init.Hidden)
	h.norm = norm
	return h
}

// deltaNormal starts as the authors' code has it.
func deltaNormal(c DeepDeltaConfig, name string, shape ...int) graph.ParamSpec {
	return graph.ParamSpec{Name: name, Shape: shape, Init: graph.Normal(0.5 / math.Sqrt(float64(c.D))), Decay: true}
}

func newDeltaWrite(b *graph.Builder, c DeepDeltaConfig, name string) deltaWrite {
	return deltaWrite{
		gate:     b.Param(deltaNormal(c, name+".beta.w", 1, c.D)),
		gateBias: b.Param(constant(name+".beta.b", []float64{math.Log(c.Beta0 / (2 - c.Beta0))}, 1)),
		values:   b.Param(deltaNormal(c, name+".v.w", c.Dv, c.D)),
		valuesBias: b.Param(graph.ParamSpec{Name: name + ".v.b", Shape: []int{c.Dv},
			Init: graph.Initializer{Uniform: 1 / math.Sqrt(float64(c.D))}}),
	}
}

func newDeltaRead(b *graph.Builder, c DeepDeltaConfig, name string) deltaRead {
	even := make([]float64, c.Dv)
	for i := range even {
		even[i] = 1 / float64(c.Dv)
	}
	r := deltaRead{rows: b.Param(constant(name+".read", even, c.Dv))}
	if c.Conv > 0 {
		r.filter = b.Param(deltaNormal(c, name+".conv", c.Conv, c.Dv, c.D))
	}
	return r
}

// Embed makes dv copies of the tokens' embedding.
func (s *deepDelta) Embed(t Tokens) State {
	state := deltaState{starts: t.Starts}
	if t.IDs != nil {
		state.seq = t.IDs.Shape()[1]
	}
	if s.c.Dv == 1 {
		state.X = s.embed(t) // [T, D]
		return state
	}
	state.X = s.b.Hook("embedding.out", shape.Copies(s.b, s.lookUp(t), s.c.Dv), "row", "feature") // [T, dv, D]
	return state
}

// Sites are attention and feed-forward.
func (s *deepDelta) Sites(block int) []Site { return twoSites(block) }

// ReadHeads is a read, Norm and W_QKV.
func (s *deepDelta) ReadHeads(state State, at Site) (*gorgonia.Node, Link) {
	a := s.attention[at.Block]
	link := s.read(state.(deltaState), at, a.norm)
	return a.read(link.normal), link // [T, 3W]
}

// ReadFeatures is a read and Norm.
func (s *deepDelta) ReadFeatures(state State, at Site) (*gorgonia.Node, Link) {
	link := s.read(state.(deltaState), at, s.features[at.Block])
	return link.normal, link // [T, D]
}

func (s *deepDelta) read(state deltaState, at Site, norm *layers.Norm) deltaLink {
	x := s.compress(state, at.Block, at.Name())
	return deltaLink{x, norm.Forward(x)}
}

// compress reads the stream as one vector a token, by the read of a block, or at the end.
func (s *deepDelta) compress(state deltaState, block int, name string) *gorgonia.Node {
	x := state.X
	if len(s.reads) > 0 {
		r, earlier := s.reads[block], name+earlierSuffix
		o := delta.ReadOptions{Seq: state.seq, Filter: r.filter, Starts: state.starts}
		if s.carries() && s.b.Hooked(earlier) { // what fusing hides: the two parts of the sum
			o.Part = delta.EarlierPositions
			before := s.b.Hook(earlier, delta.Read(s.b, x, r.rows, o), "feature") // [T, D]
			o.Part = delta.OwnPosition
			x = s.b.Add(delta.Read(s.b, x, r.rows, o), before)
		} else {
			x = delta.Read(s.b, x, r.rows, o)
		}
	}
	return s.b.Hook(name+".read", x, "feature") // [T, D]
}

// earlierSuffix ends the name of what a read has from earlier positions.
const earlierSuffix = ".earlier"

// carries tells whether reads look at earlier positions.
func (s *deepDelta) carries() bool { return s.c.Conv > 1 }

// WriteHeads writes W_O o.
func (s *deepDelta) WriteHeads(state State, at Site, link Link, o *gorgonia.Node) State {
	return s.write(state.(deltaState), at, link.(deltaLink), s.attention[at.Block].write(o))
}

// WriteFeatures writes y.
func (s *deepDelta) WriteFeatures(state State, at Site, link Link, y *gorgonia.Node) State {
	return s.write(state.(deltaState), at, link.(deltaLink), y)
}

func (s *deepDelta) write(state deltaState, at Site, link deltaLink, y *gorgonia.Node) State {
	b, w := s.b, s.writes[at.Index]
	gate := linear.Map(b, link.normal, w.gate, linear.Options{Bias: w.gateBias, Transposed: true, AddGradient: true}) // [T, 1]
	gate = b.Hook(at.Name()+gateSuffix, elementwise.Sigmoid(b, gate), "gate")
	values := linear.Map(b, link.x, w.values, linear.Options{Bias: w.valuesBias, Transposed: true, AddGradient: true}) // [T, dv]
	values = b.Hook(at.Name()+valuesSuffix, elementwise.Sigmoid(b, values), "row")
	y = b.Hook(at.Name()+".write", elementwise.Dropout(b, y, s.c.Dropout), "feature") // [T, D]
	x := delta.Write(b, state.X, y, gate, values, delta.WriteOptions{Eps: s.c.KEps, Scale: s.c.VScale})
	state.X = b.Hook(at.Name()+".stream", x, s.axes()...)
	return state
}

// The ends of the names of a site's gate, beta/2, and of its values, v/v_scale.
const (
	gateSuffix   = ".delta.gate"
	valuesSuffix = ".delta.values"
)

// axes are those of a token's stream.
func (s *deepDelta) axes() []string {
	if s.c.Dv == 1 {
		return []string{"feature"}
	}
	return []string{"row", "feature"}
}

// EndBlock does nothing.
func (s *deepDelta) EndBlock(state State, _ int) State { return state }

// Features is the norm of the last read.
func (s *deepDelta) Features(state State) *gorgonia.Node {
	return s.norm.Forward(s.compress(state.(deltaState), s.c.Layers, compressName))
}

// Form has A_res = I - beta k k^T on each row, and beta v as B_up of what is normalised.
func (s *deepDelta) Form(at Site) Form {
	w := s.writes[at.Index]
	gate := nodeNames(w.gate, w.gateBias)
	f := Form{
		Site: at.Name(),
		Res:  Coefficient{Choice: Dependent, Rows: s.c.D, Columns: s.c.D, Axes: "D x D", Parameters: gate, Start: Start{Text: "I - beta0 k k^T"}},
		Down: fixed(1, "1 x 1"),
		Up: Coefficient{Choice: Dependent, Rows: s.c.Dv, Columns: 1, Axes: "dv x 1", Parameters: append(gate, nodeNames(w.values, w.valuesBias)...),
			Start: Start{Text: "beta0 v, v about v_scale/2"}},
		Beyond: []Term{{Text: "F's output is normalised: h' = h + beta (v - k . h) k with k = F/|F| for each row h"}},
		Source: "Zhang et al. 2026, arXiv 2601.00417",
	}
	if s.c.Dv > 1 {
		read := s.reads[at.Block]
		f.Down = Coefficient{Choice: Learned, Rows: 1, Columns: s.c.Dv, Axes: "1 x dv", Parameters: nodeNames(read.rows),
			Start: Start{"1/dv", table(1, s.c.Dv, func(_, _ int) float64 { return 1 / float64(s.c.Dv) })}}
		if read.filter != nil {
			f.Beyond = append(f.Beyond, Term{Text: "A_down reads a causal convolution of the state over the last positions", Parameters: nodeNames(read.filter)})
		}
	}
	return f
}
