package stream

import (
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/ops/shape"
	"github.com/residua-go/residua/layers"
)

// MUDDConfig describes a stream with MUDD connections.
type MUDDConfig struct {
	Vectors
	PrePost    bool `yaml:"prepost" default:"false" help:"the form with RMSNorms around the connections, which are then added to the block's own output"`
	ExpandLast bool `yaml:"expand_last" default:"false" help:"the hidden layer that makes the last block's weights is four times as wide"`
	Round64    bool `yaml:"round64" default:"false" help:"those hidden layers have the next multiple of 64 entries"`
}

// ways are the inputs of a block that MUDD connections compute.
var ways = []string{"q", "k", "v", "r"}

// attentionWays is the number of ways that attention reads; the last way is the residual.
const attentionWays = 3

// Name returns "mudd".
func (MUDDConfig) Name() string { return "mudd" }

// Card describes MUDD connections.
func (MUDDConfig) Card() layers.Card {
	return layers.Card{
		Title: "MUDD connections",
		Equation: "y = r + Attn(Norm_q(q), Norm_k(k), Norm_v(v));   X_{l+1} = y + FF(Norm(y))\n" +
			"A = W2 GELU(W1 X_{l+1}/rms) + b;   next block's q, k, v, r = sum over j of A[c, j] X_j",
		Source: "Xiao et al. 2025, arXiv 2502.12170: multiway dynamic dense connections",
		Use: "Queries, keys, values and the residual each read a sum of all earlier blocks' outputs of their own, with weights that every token " +
			"computes. It starts as the transformer, bit for bit, for 0.4% of the parameters at 162M. What it costs is memory: the outputs are kept, and all " +
			"are read after each block.",
	}
}

// Shape returns the shape of a stream of one vector for each token; the kept outputs are not
// counted.
func (c MUDDConfig) Shape() Shape {
	s := c.shape(c.D)
	s.Kept = (len(ways) + 1) * c.D // the ways, and the output
	s.Options = []string{ResidualScaleKey, HeadBiasesKey}
	return s
}

// Plain returns a vector stream: each way starts as the block's own output.
func (c MUDDConfig) Plain() (Design, bool) { return c.plain(true) }

// SetPlain copies the weights of the transformer's single norm to the norms of the ways.
func (c MUDDConfig) SetPlain(own, plain *graph.Store) error {
	for l := range c.Layers {
		for _, part := range []string{".norm", ".norm_bias"} {
			name := twoSites(l)[0].Name() + part
			of := plain.Param(name)
			if of == nil || own.Param(name).Size() == of.Size() {
				continue
			}
			var all []float64
			for range attentionWays {
				all = append(all, graph.Float64s(of.Value)...)
			}
			if err := graph.SetFloat64s(own.Param(name).Value, all); err != nil {
				return err
			}
		}
	}
	return nil
}

// sums returns how many sums there are after a block, how many sources each has (the embedding and
// the outputs until then), and the width of the hidden layer that computes their weights.
func (c MUDDConfig) sums(block int) (sums, sources, hidden int) {
	sums, sources = len(ways), block+2
	last := block == c.Layers-1
	if last {
		sums = 1
	}
	hidden = sums * sources
	if last && c.ExpandLast {
		hidden *= 4
	}
	if c.Round64 {
		hidden = (hidden/64 + 1) * 64
	}
	return sums, sources, hidden
}

// severalWays tells whether a block's attention reads the stream in three ways; otherwise it reads
// the embedding in one. The first block has three norms if a later pass needs them.
func (c MUDDConfig) severalWays(block int) bool { return block > 0 || c.PrePost || c.Loop.Repeats(0) }

// connectionCost counts what computes the sums after a block: for k sums of s sources, with a
// hidden layer of h entries, it has D*h + h*ks + ks parameters, and the sums take 2*D*ks FLOPs. It
// keeps the sums except r, which is only added to, their weights, and the hidden layer before and
// after its GELU.
func (c MUDDConfig) connectionCost(block int) layers.Cost {
	sums, sources, hidden := c.sums(block)
	k, h, d := float64(sums*sources), float64(hidden), float64(c.D)
	return layers.LinearCost(d, h, false).Plus(layers.LinearCost(h, k, true), layers.Cost{FLOPs: 2 * d * k, Activations: max(1, float64(sums-1))*d + k + 2*h})
}

// DepthParameters counts the sums after a block; in a later pass they have more sources.
func (c MUDDConfig) DepthParameters() func(depth int) (shared, own float64) {
	return func(depth int) (shared, own float64) { return 0, c.connectionCost(depth).Parameters }
}

// Cost counts three norms before attention, the sums after each block, and the norms of prepost.
func (c MUDDConfig) Cost() layers.Cost {
	d, gain := float64(c.D), layers.NormConfig{}.Cost(float64(c.D))
	total := c.tablesCost(d).Plus(c.lastNormCost())
	if c.PrePost {
		total = total.Plus(gain)
	}
	if c.severalWays(0) {
		total = total.Plus(layers.ActivationCost(attentionWays * d))
	}
	for block := range c.Layers {
		ways := 1.0
		if c.severalWays(block) {
			ways = attentionWays
		}
		total = total.Plus(c.headsCost(), c.Norm.Cost(ways*d), c.Norm.Cost(d), layers.ActivationCost(2*d),
			c.connectionCost(block).WithParameters(layers.Cost{}))
		if c.PrePost {
			total = total.Plus(gain.Times(2), layers.Cost{Parameters: d})
		}
	}
	return total
}

// New makes the parameters of a stream with MUDD connections.
func (c MUDDConfig) New(b *graph.Builder) Stream {
	m := &mudd{Vector: startVector(b, c.Vectors), config: c, norms: make([]*layers.Norm, c.Layers)}
	if c.PrePost {
		m.kept = newRMS(b, "mudd.norm", c.Vectors, 1)
	}
	for l := range c.Layers {
		sites := m.Sites(l)
		h := newBareHeads(b, c.Vectors, sites[0].Name(), c.Init.Output)
		if name := sites[0].Name() + ".norm"; c.severalWays(l) {
			m.norms[l] = layers.NewNorms(b, name, c.Norm, attentionWays, c.D)
		} else {
			h.norm = layers.NewNorm(b, name, c.Norm, c.D)
		}
		m.attention = append(m.attention, h)
		m.features = append(m.features, layers.NewNorm(b, sites[1].Name()+".norm", c.Norm, c.D))
		m.blocks = append(m.blocks, newConnections(b, c, l))
	}
	m.addLastNorm()
	m.Use(m)
	return m
}

// mudd is a vector stream with multiway dynamic dense connections (Xiao et al. 2025, arXiv
// 2502.12170). With X_0 the embedding, block l = 0..L-1 reads four streams, all of them X_0 at
// first:
//
//	y = r + Attn(Norm_q(q), Norm_k(k), Norm_v(v));   X_(l+1) = y + FF(Norm(y))
//	A = W2 GELU(W1 X_(l+1)/rms) + b                  [4, l+2] a token, [1, L+1] after the last block
//	q, k, v, r <- sum over j <= l+1 of A[c, j] X_j
//
// and the last sum goes into the last norm. X_j are outputs before they are mixed; rms has the
// model's eps and no gain. W1 starts as LeCun's initialisation says, W2 at 0 and b at 1 for the
// newest output, 0 for the others, which makes it a vector stream. b does not decay.
//
// In the form prepost each output is kept as Norm(X_j), the embedding, too; the rms has a gain; and
// the sums are added to the block's own output, r's and the last one after a norm whose gain starts
// at 0.001. These norms are RMSNorms. b starts at 0, which makes it a vector stream.
//
// Parameters after depth l: "blocks.l.mudd.w1" [D, h], "blocks.l.mudd.w2" [h, 4(l+2)], sum by sum,
// and "blocks.l.mudd.bias" [4(l+2)], separate for each pass of a loop; of block l
// "blocks.l.attention.norm" [3, D] if q, k and v differ. prepost: "mudd.norm" [D] of the embedding,
// "blocks.l.mudd.norm" [D], "blocks.l.mudd.dense_norm" [D] and "blocks.l.mudd.post_norm" [D].
//
// The state's H is r, its More holds the terms of the sums, and Packed what attention reads besides
// r.
type mudd struct {
	*Vector
	config MUDDConfig
	norms  []*layers.Norm // for q, k and v of each block; nil: there is one way
	blocks []connections
	kept   *layers.Norm // prepost: the norm of the embedding
}

// muddState holds the stream r [T, D], the outputs X_0 .. X_l, [T, D] each, and the ways.
type muddState struct {
	VectorState
	Packed *gorgonia.Node // q, k and v [T, 3, D]; nil: attention reads the embedding
}

// Embed makes the vector stream's embedding, which is the first source.
func (m *mudd) Embed(t Tokens) State {
	h := m.embed(t)
	s := muddState{VectorState: VectorState{h, gorgonia.Nodes{h}}}
	if m.config.PrePost {
		s.More = gorgonia.Nodes{m.kept.Apply(h)}
	}
	if m.config.severalWays(0) {
		s.Packed = shape.Copies(m.b, h, attentionWays)
	}
	return s
}

// ReadHeads returns W_QKV of the normalised q, k and v.
func (m *mudd) ReadHeads(s State, at Site) (*gorgonia.Node, Link) {
	state, h := s.(muddState), m.attention[at.Block]
	if state.Packed == nil {
		return m.Vector.ReadHeads(s, at)
	}
	packed := m.norms[at.Block].Forward(m.Hook(at, ".read", state.Packed, "row", "feature")) // [T, 3, D]
	qkv := linear.Parts(m.b, packed, h.qkv, h.columns...)
	if h.qkvBias != nil {
		qkv = linear.Bias(m.b, qkv, h.qkvBias)
	}
	return qkv, nil
}

// Read returns r.
func (m *mudd) Read(s State, _ Site) (*gorgonia.Node, Link) { return s.(muddState).H, nil }

// Write adds y to r.
func (m *mudd) Write(s State, at Site, _ Reading, y *gorgonia.Node) State {
	state := s.(muddState)
	state.VectorState = m.Add(state.VectorState, at, y).(VectorState)
	return state
}

// End returns r.
func (m *mudd) End(s State) *gorgonia.Node { return s.(muddState).H }

// EndBlock keeps the block's output and computes the next block's inputs from all outputs.
func (m *mudd) EndBlock(s State, block int) State {
	state, k, name := s.(muddState), m.blocks[block], connectionsName(block)
	own, kept := state.H, state.H
	if m.config.PrePost {
		kept = k.norm.Apply(own)
	}
	state.More = append(slices.Clip(state.More), kept)
	a := m.b.Hook(name+weightsHook, k.weights(m.b, own, m.config), "weight") // [T, sums*sources]
	if block < m.c.Layers-1 {
		state.Packed, state.H = elementwise.MultiwaySum(m.b, a, state.More...) // [T, 3, D], [T, D]
	} else {
		state.Packed, state.H = nil, elementwise.WeightedSum(m.b, a, state.More...) // [T, D]
	}
	if m.config.PrePost {
		mix := m.b.Hook(name+".mix", state.H, "feature")
		state.H = m.b.Add(own, k.post.Apply(mix))
		if state.Packed != nil {
			state.Packed = m.b.Add(state.Packed, shape.Copies(m.b, own, attentionWays))
		}
	}
	state.H = m.b.Hook(name+".out", state.H, "feature")
	return state
}

// DepthReads lists the sums after each block.
func (m *mudd) DepthReads() (sources []string, reads []DepthRead) {
	of := []int{0}
	for block := range m.blocks {
		of = append(of, block+1)
		read := DepthRead{Name: connectionsName(block), Of: of[:len(of):len(of)], Weights: connectionsName(block) + weightsHook}
		if reader := blockReader(block, m.c.Layers); reader == Unembedding {
			read.Readers = []string{reader}
		} else {
			for _, way := range ways[:attentionWays] {
				read.Readers = append(read.Readers, twoSites(block + 1)[0].Name()+"."+way)
			}
			read.Readers = append(read.Readers, reader+".residual")
		}
		reads = append(reads, read)
	}
	return blockSources(m.c.Layers), reads
}

// Form describes h' = h + F(h), with sums after blocks.
func (m *mudd) Form(at Site) Form {
	f, k := plainForm(at, "Xiao et al. 2025, arXiv 2502.12170"), m.blocks[at.Block]
	f.Beyond = []Term{{"after a block: q, k, v and h become sums of the outputs of blocks so far, of weights that a token computes",
		nodeNames(k.w1, k.w2, k.bias)}}
	return f
}
