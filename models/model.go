package models

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/attention"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream"
)

// Model is a language model in a Gorgonia graph. Its parameters are nodes from the start; Forward
// and the methods after it add nodes. After an error methods return nil nodes and Err returns the
// error.
type Model struct {
	spec        Spec
	b           *graph.Builder
	stream      stream.Stream
	attention   []layers.Attention
	embedded    []*layers.ValueEmbedding // of values, by depth; nil: none
	values      *layers.ValueResidual    // of attentions; nil: none
	feedforward []layers.FeedForward
	writes      *stream.SiteWrites // nil: what sublayers write is written
	unembedding *layers.Unembedding
}

// New makes a model's parameters in g, initialised from o.Seed unless o.Store has them.
//
//	spec, err := config.Resolve()
//	m, err := models.New(g, spec, graph.Options{})
//	features := m.Forward(tokens) // tokens: [batch, seq] Int32
//	loss := m.Loss(features, targets, models.Auxiliary{}) // a scalar
//	grads, err := gorgonia.Grad(loss, m.Learnables()...)
func New(g *gorgonia.ExprGraph, spec Spec, o graph.Options) (*Model, error) {
	return On(graph.On(g, o), spec)
}

// On is like New, with a Builder such as a Program's.
func On(b *graph.Builder, spec Spec) (*Model, error) {
	err := b.Err()
	if err == nil && spec.IsZero() {
		err = errUnresolved()
	}
	if err == nil {
		err = spec.checkParameters(b.Store())
	}
	if err != nil {
		return nil, errors.Wrap(err, "models")
	}
	m := &Model{spec: spec, b: b, values: spec.valueResidual()}
	if spec.Depth() == spec.Layers {
		m.makeParameters()
	} else {
		b.Share(spec.ParameterName, m.makeParameters)
	}
	if err := b.Err(); err != nil {
		return nil, errors.Wrap(err, "models")
	}
	return m, nil
}

// makeParameters makes the parameters of the stream, of the blocks that tokens pass, each pass
// included, and of the unembedding.
func (m *Model) makeParameters() {
	design := m.spec.design
	if m.spec.Writes != nil {
		m.writes = stream.NewSiteWrites(m.b, m.spec.Writes, m.spec.sites(), m.spec.writeSizes())
		common := m.spec.common(m.spec.Depth())
		common.Writes = m.writes
		design = withCommon(design, common)
	}
	m.stream = design.New(m.b)
	for l := range m.spec.Depth() {
		for _, site := range m.stream.Sites(l) {
			m.addBlock(site)
		}
	}
	m.addUnembedding()
}

// addBlock makes the attention or the feed-forward of one site.
func (m *Model) addBlock(site stream.Site) {
	c := m.spec
	switch site.Sublayer {
	case stream.Attention:
		m.attention = append(m.attention, c.Attention.Design().New(m.b, site.Name(), c.attentionConfig(site.Block, m.values)))
		var embedded *layers.ValueEmbedding
		if sizes, ok := c.valueEmbedding(c.loop().Block(site.Block)); ok {
			embedded = layers.NewValueEmbedding(m.b, site.Name(), sizes)
		}
		m.embedded = append(m.embedded, embedded)
	case stream.FeedForward:
		m.feedforward = append(m.feedforward, c.FeedForward.New(m.b, site.Name(), c.feedForwardSizes()))
	}
}

func (m *Model) addUnembedding() {
	c := m.spec
	u := layers.UnembeddingConfig{Features: c.Features(), Vocab: c.Vocab, Scale: c.logitScale(), SoftCap: c.LogitSoftcap, Init: c.init()}
	if c.TieEmbeddings {
		u.Tied = m.stream.Table()
	}
	m.unembedding = layers.NewUnembedding(m.b, "unembedding", u)
}

// Forward returns the features of tokens [batch, seq] Int32: [T, ...F] with T =
// batch*seq, the input of Logits and Loss. It never builds logits.
func (m *Model) Forward(tokens *gorgonia.Node) *gorgonia.Node { return m.ForwardFrom(tokens, nil) }

// ForwardFrom is like Forward, with given document starts, [batch, seq] Int32: for each token the
// index in its row of the first token that it may see. Without them (nil) they are found by BOS, if
// the model masks documents.
func (m *Model) ForwardFrom(tokens, starts *gorgonia.Node) *gorgonia.Node {
	if !m.checkTokens(tokens) {
		return nil
	}
	in := stream.Tokens{IDs: tokens}
	if m.spec.Attention.Positions == PositionsLearned {
		in.Positions = attention.Positions(m.b, tokens)
	}
	if starts == nil && m.spec.MaskDocuments {
		starts = attention.DocumentStarts(m.b, tokens, m.spec.BOS, m.spec.Separator)
	}
	in.Starts = starts
	state := m.stream.Embed(in)
	seq := tokens.Shape()[1]
	m.writes.Begin(stream.TokenRows{Seq: seq, Starts: starts})
	for l := range m.spec.Depth() {
		m.b.Block(func() { state = m.block(state, l, in) })
	}
	m.b.Fail(m.writes.End())
	return m.b.Hook("features", m.stream.Features(state), m.spec.Shape().Axes...)
}

func (m *Model) checkTokens(tokens *gorgonia.Node) bool {
	if tokens == nil || m.b.Err() != nil {
		m.b.Fail(errors.New("models: Forward: want tokens [batch, seq] int32, got no node"))
		return false
	}
	shape := tokens.Shape()
	if shape.Dims() != 2 || tokens.Dtype() != tensor.Int32 {
		m.b.Fail(errors.Errorf("models: Forward: want tokens [batch, seq] int32, got %v %v", tokens.Dtype(), shape))
		return false
	}
	if c := m.spec; c.Attention.Positions == PositionsLearned && shape[1] > c.Seq {
		m.b.Fail(errors.Errorf("models: Forward: want at most %d tokens a row, the model's learned positions, got %d", c.Seq, shape[1]))
		return false
	}
	return true
}

// block runs the sublayers of the block at depth l. In a parallel block the feed-forward reads the
// state that attention reads.
func (m *Model) block(s stream.State, l int, in stream.Tokens) stream.State {
	before, seq := s, in.IDs.Shape()[1]
	for _, site := range m.stream.Sites(l) {
		if !m.spec.Parallel {
			before = s
		}
		switch site.Sublayer {
		case stream.Attention:
			qkv, link := m.stream.ReadHeads(before, site)
			qkv = m.writes.Heads(site, qkv)
			if e := m.embedded[l]; e != nil {
				qkv = e.Add(qkv, link.(stream.Reading).Normal, in.IDs)
			}
			s = m.stream.WriteHeads(s, site, link, m.attention[l].Forward(qkv, seq, in.Starts))
		case stream.FeedForward:
			u, link := m.stream.ReadFeatures(before, site)
			s = m.stream.WriteFeatures(s, site, link, m.feedforward[l].Forward(u))
		}
	}
	return m.stream.EndBlock(s, l)
}

// Logits returns the logits [T, vocab] of features.
func (m *Model) Logits(features *gorgonia.Node) *gorgonia.Node {
	return m.b.Hook("logits", m.unembedding.Logits(features), "vocab")
}

// Auxiliary holds the coefficients of the losses that are added to the cross-entropy.
type Auxiliary struct {
	ZLoss       float64 // of the mean (log Z)^2
	BalanceLoss float64 // of the experts' load balance, summed over blocks
	RouterZLoss float64 // of the routers' mean (log Z)^2, summed over blocks
}

// Loss returns the mean cross-entropy of targets (Int32, T entries; negative ones are
// not counted) plus the auxiliary losses, a scalar in nats. loss.Parts tells the
// cross-entropy and the z-loss apart after a run. The experts' losses come from the last call
// of Forward.
func (m *Model) Loss(features, targets *gorgonia.Node, a Auxiliary) *gorgonia.Node {
	for _, coefficient := range []float64{a.ZLoss, a.BalanceLoss, a.RouterZLoss} {
		if coefficient != 0 && !positive(coefficient) {
			m.b.Fail(errors.Errorf("models: Loss: want auxiliary coefficients that are finite and >= 0, got %+v", a))
			return nil
		}
	}
	terms := gorgonia.Nodes{m.unembedding.Loss(features, targets, a.ZLoss)}
	for _, x := range m.routed() {
		if a.BalanceLoss > 0 {
			terms = append(terms, elementwise.Scale(m.b, x.Balance(), a.BalanceLoss))
		}
		if a.RouterZLoss > 0 {
			terms = append(terms, elementwise.Scale(m.b, x.RouterZ(), a.RouterZLoss))
		}
	}
	if len(terms) == 1 {
		return terms[0]
	}
	return m.b.Add(terms...)
}

// routed returns the feed-forwards with experts.
func (m *Model) routed() []layers.Routed {
	var routed []layers.Routed
	for _, f := range m.feedforward {
		if r, ok := f.(layers.Routed); ok {
			routed = append(routed, r)
		}
	}
	return routed
}

// ExpertCounts returns the number of tokens assigned to each expert in the last Forward, [experts]
// Int32: one node for each block, none without experts. A program has to have these nodes among its
// outputs.
func (m *Model) ExpertCounts() gorgonia.Nodes {
	var counts gorgonia.Nodes
	for _, x := range m.routed() {
		counts = append(counts, x.Counts())
	}
	return counts
}

// TokenLosses returns -log p(target) of each token, [T].
func (m *Model) TokenLosses(features, targets *gorgonia.Node) *gorgonia.Node {
	return m.unembedding.TokenLosses(features, targets)
}

// Learnables returns the parameters' nodes, each named.
func (m *Model) Learnables() gorgonia.Nodes { return m.b.Learnables() }

// Spec returns what the model was made from.
func (m *Model) Spec() Spec { return m.spec }

// Builder returns the builder that the model makes nodes with.
func (m *Model) Builder() *graph.Builder { return m.b }

// Store returns where the parameters live.
func (m *Model) Store() *graph.Store { return m.b.Store() }

// Err returns the first error of building, or nil.
func (m *Model) Err() error { return m.b.Err() }
