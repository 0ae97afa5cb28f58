package models

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream"
)

// Model is a language model in a Gorgonia graph: its parameters are nodes from the start,
// Forward and what follows it add nodes. After an error methods return nil nodes and Err
// tells what went wrong.
type Model struct {
	config      Config
	b           *graph.Builder
	stream      stream.Stream
	attention   []*layers.Attention
	feedforward []feedForward
	experts     []*layers.MoE // those of feedforward that are mixtures of experts
	unembedding *layers.Unembedding
}

// feedForward is a block between a stream's ReadFeatures and WriteFeatures.
type feedForward interface {
	Forward(u *gorgonia.Node) *gorgonia.Node
}

// Option varies New.
type Option func(*graph.Options)

// WithDType chooses tensor.Float32 (the default) or tensor.Float64, which is for checks.
func WithDType(dt tensor.Dtype) Option { return func(o *graph.Options) { o.DType = dt } }

// WithSeed seeds the initial values and dropout; the default is 0.
func WithSeed(seed uint64) Option { return func(o *graph.Options) { o.Seed = seed } }

// WithThreads sets the number of workers an op; the default is all.
func WithThreads(n int) Option { return func(o *graph.Options) { o.Threads = n } }

// WithStore shares parameters with other models of the same config.
func WithStore(s *graph.Store) Option { return func(o *graph.Options) { o.Store = s } }

// WithTraining turns dropout on.
func WithTraining() Option { return func(o *graph.Options) { o.Training = true } }

// WithHooks watches or replaces named activations.
func WithHooks(h graph.Hooks) Option { return func(o *graph.Options) { o.Hooks = h } }

// WithCache makes Forward continue from earlier runs, for generation.
func WithCache(c *graph.Cache) Option { return func(o *graph.Options) { o.Cache = c } }

// New makes a model's parameters in g, initialised from the seed.
//
//	m, err := models.New(g, cfg)
//	features := m.Forward(tokens)          // tokens: [batch, seq] Int32
//	loss := m.Loss(features, targets)      // a scalar
//	grads, err := gorgonia.Grad(loss, m.Learnables()...)
func New(g *gorgonia.ExprGraph, c Config, opts ...Option) (*Model, error) {
	var o graph.Options
	for _, opt := range opts {
		opt(&o)
	}
	return On(graph.On(g, o), c)
}

// On is New with a Builder: a Program's, or one with further options.
func On(b *graph.Builder, c Config) (*Model, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.Resolve()
	err := b.Err()
	if err == nil {
		err = c.checkParameters(b.Store())
	}
	if err != nil {
		return nil, errors.Wrap(err, "models")
	}
	m := &Model{config: c, b: b}
	m.stream = c.Design().New(b)
	for l := range c.Layers {
		for _, site := range m.stream.Sites(l) {
			m.addBlock(site)
		}
	}
	m.addUnembedding()
	if err := b.Err(); err != nil {
		return nil, errors.Wrap(err, "models")
	}
	return m, nil
}

// addBlock makes the block of one site.
func (m *Model) addBlock(site stream.Site) {
	c := m.config
	switch site.Kind {
	case stream.Attention:
		m.attention = append(m.attention, layers.NewAttention(m.b, site.Name(), layers.AttentionConfig{
			Heads: c.HeadCount(), Scale: c.attentionScale(site.Block), ALiBi: c.Positions == PositionsALiBi, RopeBase: c.RopeBase}))
	case stream.FeedForward:
		m.addFeedForward(site.Name())
	}
}

// addFeedForward makes a dense feed-forward or a mixture of experts.
func (m *Model) addFeedForward(name string) {
	if c := m.config; c.Experts == 0 {
		m.feedforward = append(m.feedforward, layers.NewFeedForward(m.b, name, c.feedForward(), c.init()))
		return
	}
	mixture := layers.NewMoE(m.b, name, m.config.mixture(), m.config.init())
	m.experts = append(m.experts, mixture)
	m.feedforward = append(m.feedforward, mixture)
}

// feedForward is a dense feed-forward, or one expert of a mixture.
func (c Config) feedForward() layers.FeedForwardConfig {
	return layers.FeedForwardConfig{In: c.Width(), Hidden: c.FF, Bias: c.Bias, ExactGelu: c.Gelu == GeluExact,
		Ratio1: c.ratios().WidthRatio, Ratio2: c.hiddenRatio(), Writes: c.Shape().Direct}
}

func (c Config) mixture() layers.MoEConfig {
	f := c.feedForward()
	return layers.MoEConfig{In: f.In, Hidden: f.Hidden, Experts: c.Experts, TopK: c.TopK, Bias: f.Bias, ExactGelu: f.ExactGelu,
		Ratio1: f.Ratio1, Ratio2: f.Ratio2, Writes: f.Writes}
}

func (m *Model) addUnembedding() {
	c := m.config
	u := layers.UnembeddingConfig{Features: c.Width(), Vocab: c.Vocab, Scale: c.logitScale()}
	if c.TieEmbeddings {
		u.Tied = m.stream.Table()
	}
	m.unembedding = layers.NewUnembedding(m.b, "unembedding", u)
}

// ForwardOption varies Forward.
type ForwardOption func(*forward)

type forward struct{ starts *gorgonia.Node }

// WithStarts gives the document starts, [batch, seq] Int32, instead of finding them by
// BOS: for each token the index in its row of the first token it may see.
func WithStarts(starts *gorgonia.Node) ForwardOption { return func(f *forward) { f.starts = starts } }

// Forward returns the features of tokens [batch, seq] Int32: [T, ...F] with T =
// batch*seq, the input of Logits and Loss. It never builds logits.
func (m *Model) Forward(tokens *gorgonia.Node, opts ...ForwardOption) *gorgonia.Node {
	var f forward
	for _, opt := range opts {
		opt(&f)
	}
	if !m.checkTokens(tokens) {
		return nil
	}
	in := stream.Tokens{IDs: tokens}
	if m.config.Positions == PositionsLearned {
		in.Positions = m.b.Positions(tokens)
	}
	if f.starts == nil && m.config.MaskDocuments {
		f.starts = m.b.DocumentStarts(tokens, m.config.BOS)
	}
	state := m.stream.Embed(in)
	seq := tokens.Shape()[1]
	for l := range m.config.Layers {
		m.b.Block(func() { state = m.block(state, l, seq, f.starts) })
	}
	return m.b.Hook("features", m.stream.Features(state), m.config.Shape().Axes...)
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
	if c := m.config; c.Positions == PositionsLearned && shape[1] > c.Seq {
		m.b.Fail(errors.Errorf("models: Forward: want at most %d tokens a row, the model's learned positions, got %d", c.Seq, shape[1]))
		return false
	}
	return true
}

// block runs the sublayers of block l.
func (m *Model) block(s stream.State, l, seq int, starts *gorgonia.Node) stream.State {
	for _, site := range m.stream.Sites(l) {
		switch site.Kind {
		case stream.Attention:
			qkv, link := m.stream.ReadHeads(s, site)
			s = m.stream.WriteHeads(s, site, link, m.attention[l].Forward(qkv, seq, starts))
		case stream.FeedForward:
			u, link := m.stream.ReadFeatures(s, site)
			s = m.stream.WriteFeatures(s, site, link, m.feedforward[l].Forward(u))
		}
	}
	return m.stream.EndBlock(s, l)
}

// Logits returns the logits [T, vocab] of features.
func (m *Model) Logits(features *gorgonia.Node) *gorgonia.Node {
	return m.unembedding.Logits(features)
}

// Loss returns the mean cross-entropy of targets (Int32, T entries; negative ones are
// not counted) plus the config's z-loss, a scalar in nats. graph.LossParts tells the two
// terms apart after a run. Mixtures of experts add the config's BalanceLoss times their
// balances and RouterZLoss times their routers' z-losses, those of the last Forward.
func (m *Model) Loss(features, targets *gorgonia.Node) *gorgonia.Node {
	terms := gorgonia.Nodes{m.unembedding.Loss(features, targets, m.config.ZLoss)}
	for _, x := range m.experts {
		if factor := m.config.BalanceLoss; factor > 0 {
			terms = append(terms, m.b.Scale(x.Balance(), factor))
		}
		if factor := m.config.RouterZLoss; factor > 0 {
			terms = append(terms, m.b.Scale(x.RouterZ(), factor))
		}
	}
	if len(terms) == 1 {
		return terms[0]
	}
	return m.b.Add(terms...)
}

// ExpertCounts returns the number of assignments of each expert, [experts] Int32, in the
// last Forward, a node a block; none without experts. The nodes have to be read: they
// belong among a program's outputs.
func (m *Model) ExpertCounts() gorgonia.Nodes {
	var counts gorgonia.Nodes
	for _, x := range m.experts {
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

// Config returns the model's config with defaults filled in.
func (m *Model) Config() Config { return m.config }

// Builder returns the builder that the model makes nodes with.
func (m *Model) Builder() *graph.Builder { return m.b }

// Store returns where the parameters live.
func (m *Model) Store() *graph.Store { return m.b.Store() }

// Err returns the first error of building, or nil.
func (m *Model) Err() error { return m.b.Err() }
