package stream

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
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

// ways are the inputs of a block that MUDD connections make.
var ways = []string{"q", "k", "v", "r"}

// attentionWays is the number of those that attention reads; the last way is the residual.
const attentionWays = 3

// Name is "mudd".
func (MUDDConfig) Name() string { return "mudd" }

// Card describes MUDD connections.
func (MUDDConfig) Card() layers.Card {
	return layers.Card{
		Title: "MUDD connections",
		Equation: "y = r + Attn(Norm_q(q), Norm_k(k), Norm_v(v));   X_{l+1} = y + FF(Norm(y))\n" +
			"A = W2 GELU(W1 X_{l+1}/rms) + b;   next block's q, k, v, r = sum over j of A[c, j] X_j",
		Source: "Xiao et al. 2025, arXiv 2502.12170: multiway dynamic dense connections",
		Use:    "Queries, keys, values and the residual each read a sum of all earlier blocks' outputs of their own, with weights that every token computes. It starts as the transformer, bit for bit, for 0.4% of the parameters at 162M. What it costs is memory: the outputs are kept, and all are read after each block.",
	}
}

// Defaults changes nothing.
func (c MUDDConfig) Defaults() Design { return c }

// Check wants sizes that fit together.
func (c MUDDConfig) Check() error { return c.check() }

// Shape is that of one vector a token; the kept outputs are not counted.
func (c MUDDConfig) Shape() Shape {
	s := c.shape(c.D)
	s.Kept = (len(ways) + 1) * c.D // the ways, and the output
	return s
}

// Plain is a vector stream: at first each way is the block's own output.
func (c MUDDConfig) Plain() (Design, bool) { return VectorConfig{Vectors: c.Vectors}, true }

// SetPlain gives the norms of the ways the weights of the transformer's one norm.
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

// sums is how many sums there are after a block, sources what each is of: the embedding and the
// outputs so far. hidden is the width of the layer that makes their weights.
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

// PassParameters are those of the sums after each pass: a later one is of more outputs.
func (c MUDDConfig) PassParameters() float64 {
	once := c
	once.Layers -= c.Loop.Further()
	return c.connectionsCost().Parameters - once.connectionsCost().Parameters
}

// connectionsCost is that of the sums after each block but their own, kept results and prepost's norms.
func (c MUDDConfig) connectionsCost() (total layers.Cost) {
	for block := range c.Layers {
		sums, sources, hidden := c.sums(block)
		k, h, d := float64(sums*sources), float64(hidden), float64(c.D)
		total = total.Plus(layers.LinearCost(d, h, false)).Plus(layers.LinearCost(h, k, true)).
			Plus(layers.Cost{FLOPs: 2 * d * k, Activations: max(1, float64(sums-1))*d + k + 2*h})
	}
	return total
}

// Cost has three norms before attention, and after each block, for k sums of s sources, D*h + h*ks
// + ks parameters and the sums' 2*D*ks FLOPs; what is kept are the sums but r, which is only added to,
// their weights and the hidden layer of h entries before and after its GELU.
func (c MUDDConfig) Cost() layers.Cost {
	d, _, _ := c.counts()
	gain := layers.NormConfig{}.Cost(d)
	total := c.tablesCost(d).Plus(c.lastNormCost()).Plus(c.connectionsCost())
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
		total = total.Plus(c.headsCost()).Plus(c.Norm.Cost(ways * d)).Plus(c.Norm.Cost(d)).Plus(layers.ActivationCost(2 * d))
		if c.PrePost {
			total = total.Plus(gain.Times(2)).Plus(layers.Cost{Parameters: d})
		}
	}
	return total
}

// New is newMUDD.
func (c MUDDConfig) New(b *graph.Builder) Stream { return newMUDD(b, c) }

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
// newest output, 0 for the others: the function is that of a vector stream. b does not decay.
//
// In the form prepost each output is kept as Norm(X_j), the embedding, too; the rms has a gain; and
// the sums are added to the block's own output, r's and the last one after a norm whose gain starts
// at 0.001. These norms are RMSNorms. b starts at 0: the function is that of a vector stream.
//
// Parameters after depth l: "blocks.l.mudd.w1" [D, h], "blocks.l.mudd.w2" [h, 4(l+2)], sum by sum, and
// "blocks.l.mudd.bias" [4(l+2)], of each pass of a loop its own; of block l "blocks.l.attention.norm" [3, D] where q, k and v differ. prepost:
// "mudd.norm" [D] of the embedding, "blocks.l.mudd.norm" [D], "blocks.l.mudd.dense_norm" [D] and
// "blocks.l.mudd.post_norm" [D].
type mudd struct {
	*Vector
	c      MUDDConfig
	norms  []*layers.Norm // of q, k and v, by block; nil: there is one way
	blocks []connections
	embed  *rms // prepost: of the kept embedding
}

// muddState is the stream r [T, D], what else attention reads, and what sums are of.
type muddState struct {
	VectorState
	Packed  *gorgonia.Node // q, k and v [T, 3, D]; nil: attention reads the embedding
	Outputs gorgonia.Nodes // X_0 .. X_l, [T, D] each
}

// Nodes returns r, the packed ways if there are any, and the outputs.
func (s muddState) Nodes() gorgonia.Nodes {
	nodes := append(gorgonia.Nodes{s.H}, s.Outputs...)
	if s.Packed != nil {
		nodes = append(nodes, s.Packed)
	}
	return nodes
}

// WithVector is the state of another r.
func (s muddState) WithVector(h *gorgonia.Node) State {
	s.H = h
	return s
}

// newMUDD makes the parameters of a stream with MUDD connections.
func newMUDD(b *graph.Builder, c MUDDConfig) *mudd {
	m := &mudd{Vector: &Vector{tables: newTables(b, c.Vectors), c: c.Vectors}, c: c, norms: make([]*layers.Norm, c.Layers)}
	if c.PrePost {
		m.embed = newRMS(b, "mudd.norm", c.Vectors, 1)
	}
	for l := range c.Layers {
		sites := twoSites(l)
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
	m.norm = layers.NewNorm(b, "norm", c.Norm, c.D)
	return m
}

// Embed is the vector stream's; the embedding is the first source.
func (m *mudd) Embed(t Tokens) State {
	h := m.Vector.Embed(t).(VectorState)
	s := muddState{VectorState: h, Outputs: h.Nodes()}
	if m.c.PrePost {
		s.Outputs = gorgonia.Nodes{m.embed.of(h.H)}
	}
	if m.c.severalWays(0) {
		s.Packed = shape.Copies(m.b, h.H, attentionWays)
	}
	return s
}

// ReadHeads is W_QKV after a norm of each of q, k and v.
func (m *mudd) ReadHeads(s State, at Site) (*gorgonia.Node, Link) {
	packed := s.(muddState).Packed
	if packed == nil {
		return m.Vector.ReadHeads(s, at)
	}
	packed = m.b.Hook(at.Name()+".read", packed, "row", "feature") // [T, 3, D]
	return m.attention[at.Block].readWays(m.norms[at.Block].Forward(packed)), nil
}

// EndBlock keeps the block's output and makes the next block's input of all outputs.
func (m *mudd) EndBlock(s State, block int) State {
	state, k, name := s.(muddState), m.blocks[block], connectionsName(block)
	own, kept := state.H, state.H
	if m.c.PrePost {
		kept = k.norm.of(own)
	}
	state.Outputs = append(state.Outputs[:len(state.Outputs):len(state.Outputs)], kept)
	a := m.b.Hook(name+weightsHook, k.weights(m.b, own, m.c), "weight") // [T, sums*sources]
	if block < m.c.Layers-1 {
		state.Packed, state.H = elementwise.MultiwaySum(m.b, a, state.Outputs...) // [T, 3, D], [T, D]
	} else {
		state.Packed, state.H = nil, elementwise.WeightedSum(m.b, a, state.Outputs...) // [T, D]
	}
	if m.c.PrePost {
		mix := m.b.Hook(name+".mix", state.H, "feature")
		state.H = m.b.Add(own, k.post.of(mix))
		if state.Packed != nil {
			state.Packed = m.b.Add(state.Packed, shape.Copies(m.b, own, attentionWays))
		}
	}
	state.H = m.b.Hook(name+".out", state.H, "feature")
	return state
}

// DepthReads are the sums after each block.
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

// Form is h' = h + F(h), with sums after blocks.
func (m *mudd) Form(at Site) Form {
	form := plainForm(at, "Xiao et al. 2025, arXiv 2502.12170")
	k := m.blocks[at.Block]
	form.Beyond = []Term{{Text: "after a block: q, k, v and h become sums of the outputs of blocks so far, of weights that a token computes",
		Parameters: nodeNames(k.w1, k.w2, k.bias)}}
	return form
}
