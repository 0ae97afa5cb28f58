package stream

import (
	"math"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/delta"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/linear"
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
// for each entry, and a weighted sum of rows; positions before a row's first token count as zero,
// and where documents are masked those of another document, too (the authors' code masks none):
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
	*Vector
	config DeepDeltaConfig
	writes []deltaWrite // by Site.Index
	reads  []deltaRead  // for each block and the end; empty with dv = 1
}

// deltaWrite holds the parameters of a site's gate and values.
type deltaWrite struct{ gate, gateBias, values, valuesBias *gorgonia.Node }

// deltaRead holds the parameters of a read.
type deltaRead struct{ rows, filter *gorgonia.Node } // filter may be nil

// deltaState is the stream X [T, dv, D], or [T, D] with dv = 1.
type deltaState struct {
	VectorState
	seq    int            // number of tokens in a row
	starts *gorgonia.Node // starts of documents, or nil
}

// New makes the parameters of a deep-delta stream.
func (c DeepDeltaConfig) New(b *graph.Builder) Stream {
	s := &deepDelta{Vector: startVector(b, c.Vectors), config: c}
	for l := range c.Layers {
		s.addRead(blockName(l) + "." + compressName)
		for _, at := range s.Sites(l) {
			s.addWrite(at.Name() + ".delta")
		}
		s.addBlock(l, true, c.Init.Hidden)
	}
	s.addRead(compressName)
	s.addLastNorm()
	s.Use(s)
	return s
}

// compressName is the name of a read's parameters, which follows the block's.
const compressName = "compress"

// normal makes a parameter that starts as in the authors' code.
func (s *deepDelta) normal(name string, shape ...int) *gorgonia.Node {
	return s.b.Param(graph.ParamSpec{Name: name, Shape: shape, Init: graph.Normal(0.5 / math.Sqrt(float64(s.c.D))), Decay: true})
}

func (s *deepDelta) addWrite(name string) {
	c, b := s.config, s.b
	s.writes = append(s.writes, deltaWrite{
		gate:     s.normal(name+".beta.w", 1, c.D),
		gateBias: b.Param(filled(name+".beta.b", math.Log(c.Beta0/(2-c.Beta0)), 1)),
		values:   s.normal(name+".v.w", c.Dv, c.D),
		valuesBias: b.Param(graph.ParamSpec{Name: name + ".v.b", Shape: []int{c.Dv},
			Init: graph.Initializer{Uniform: 1 / math.Sqrt(float64(c.D))}}),
	})
}

func (s *deepDelta) addRead(name string) {
	c := s.config
	if c.Dv == 1 {
		return
	}
	r := deltaRead{rows: s.b.Param(filled(name+".read", 1/float64(c.Dv), c.Dv))}
	if c.Conv > 0 {
		r.filter = s.normal(name+".conv", c.Conv, c.Dv, c.D)
	}
	s.reads = append(s.reads, r)
}

// Embed makes dv copies of the tokens' embedding.
func (s *deepDelta) Embed(t Tokens) State {
	state := deltaState{starts: t.Starts}
	if t.IDs != nil {
		state.seq = t.IDs.Shape()[1]
	}
	if s.config.Dv == 1 {
		state.H = s.embed(t) // [T, D]
	} else {
		state.VectorState = s.embedCopies(t, s.config.Dv) // [T, dv, D]
	}
	return state
}

// Read reads the stream as one vector for each token, by the read of a block.
func (s *deepDelta) Read(state State, at Site) (*gorgonia.Node, Link) {
	return s.compress(state, at.Block, at.Name()), nil
}

// End makes the read at the end.
func (s *deepDelta) End(state State) *gorgonia.Node {
	return s.compress(state, s.c.Layers, compressName)
}

func (s *deepDelta) compress(of State, block int, name string) *gorgonia.Node {
	state := of.(deltaState)
	x := state.H
	if len(s.reads) > 0 {
		r, earlier := s.reads[block], name+earlierSuffix
		o := delta.ReadOptions{Seq: state.seq, Filter: r.filter, Starts: state.starts}
		if s.carries() && s.b.Hooked(earlier) { // the two parts of the sum, which fusing would hide
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

// earlierSuffix is the end of the name of what a read gets from earlier positions.
const earlierSuffix = ".earlier"

// carries tells whether reads look at earlier positions.
func (s *deepDelta) carries() bool { return s.config.Conv > 1 }

// Write erases the stream's component in y's direction, and writes values there.
func (s *deepDelta) Write(of State, at Site, from Reading, y *gorgonia.Node) State {
	b, w, state := s.b, s.writes[at.Index], of.(deltaState)
	opened := func(end string, x, weight, bias *gorgonia.Node, axis string) *gorgonia.Node {
		logits := linear.Map(b, x, weight, linear.Options{Bias: bias, Transposed: true, AddGradient: true})
		return s.Hook(at, end, elementwise.Sigmoid(b, logits), axis)
	}
	gate := opened(gateSuffix, from.Normal, w.gate, w.gateBias, "gate")   // [T, 1]
	values := opened(valuesSuffix, from.U, w.values, w.valuesBias, "row") // [T, dv]
	x := delta.Write(b, state.H, s.Written(at, y), gate, values, delta.WriteOptions{Eps: s.config.KEps, Scale: s.config.VScale})
	axes := []string{"row", "feature"}
	if s.config.Dv == 1 {
		axes = axes[1:]
	}
	state.H = s.Hook(at, ".stream", x, axes...)
	return state
}

// The ends of the names of a site's gate, beta/2, and of its values, v/v_scale.
const (
	gateSuffix   = ".delta.gate"
	valuesSuffix = ".delta.values"
)

// Form describes A_res = I - beta k k^T on each row, and beta v as B_up of the normalised output.
func (s *deepDelta) Form(at Site) Form {
	w, dv := s.writes[at.Index], s.config.Dv
	f := Form{
		Site:   at.Name(),
		Res:    Dependent.coefficient(s.c.D, s.c.D, "D x D", Start{Text: "I - beta0 k k^T"}, w.gate, w.gateBias),
		Down:   fixed(1, "1 x 1"),
		Up:     Dependent.coefficient(dv, 1, "dv x 1", Start{Text: "beta0 v, v about v_scale/2"}, w.gate, w.gateBias, w.values, w.valuesBias),
		Beyond: []Term{{Text: "F's output is normalised: h' = h + beta (v - k . h) k with k = F/|F| for each row h"}},
		Source: "Zhang et al. 2026, arXiv 2601.00417",
	}
	if dv > 1 {
		read := s.reads[at.Block]
		f.Down = Learned.coefficient(1, dv, "1 x dv", even(dv, "1/dv", 1/float64(dv)), read.rows)
		if read.filter != nil {
			f.Beyond = append(f.Beyond, Term{"A_down reads a causal convolution of the state over the last positions", nodeNames(read.filter)})
		}
	}
	return f
}
