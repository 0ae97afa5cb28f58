package models

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/settings"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream"
)

// Spec is a model that can be built: a Config that was checked, with every default filled in.
// Config.Resolve makes it, once; what needs a model takes a Spec. A Spec is not to be changed:
// With makes another one.
type Spec struct {
	Config
	design stream.Design // Config.Stream with the settings that the model gives to it
	shape  stream.Shape
}

// Resolve checks a config and fills in the defaults of its fields, of the stream and of the
// feed-forward. The error is a *FieldError for the first field, in reading order, that is not
// valid.
func (c Config) Resolve() (Spec, error) {
	s := Spec{Config: c.WithDefaults()}
	for _, check := range []func() error{s.checkStream, s.checkFeedForward, s.checkWrites, s.checkChoices, s.checkRope, s.checkBlocks, s.checkNumbers,
		s.checkMuP} {
		if err := check(); err != nil {
			return Spec{}, err
		}
	}
	s.design = s.designed(s.Depth()) // ratios are known now
	return s, nil
}

// designed returns the stream's design for the given number of blocks, with the settings that the
// config gives to every stream.
func (s Spec) designed(blocks int) stream.Design {
	return layers.WithDefaults(withCommon(s.Config.Stream, s.common(blocks)))
}

// common returns the settings that the config gives to every stream of that number of blocks.
func (s Spec) common(blocks int) stream.Common {
	return stream.Common{
		Layers: blocks, Loop: s.loop(), Vocab: s.Vocab, Positions: s.positionRows(), Heads: s.Attention.Heads, HeadDim: s.Attention.HeadDim, KVHeads: s.KVHeads(),
		Norm: s.norm(), Init: s.init(), Bias: s.Bias, Tied: s.TieEmbeddings,
		ExactGelu: s.Gelu == GeluExact, InputScale: s.inputScale(), Dropout: s.Dropout,
		Blocks: s.blockOptions(), AttentionOnly: s.attentionOnly(), Ratios: s.ratios()}
}

// Depth returns the number of blocks that a token passes, counting a loop's blocks each time. Sites
// and activations are numbered by depth.
func (s Spec) Depth() int { return s.Layers + s.loop().Further() }

// CacheEntries returns how many entries generation keeps for each token: its keys and values, for
// each pass of a loop's blocks.
func (s Spec) CacheEntries() (total int) {
	entries := func(layer int) int {
		c := s.attentionConfig(0, nil)
		c.Layer = layer
		return s.Attention.Design().CacheEntries(c)
	}
	alike := entries(s.alikeLayer())
	total = s.Depth() * alike
	for _, layer := range s.Attention.Design().Exceptions() {
		total += s.loop().Passes(layer) * (entries(layer) - alike)
	}
	return total
}

// FirstPass returns the depth at which tokens first pass the block that they pass at the given
// depth.
func (s Spec) FirstPass(depth int) int {
	if block := s.loop().Block(depth); block < s.LoopEnd {
		return block
	}
	return depth
}

// ParameterName returns the name of a parameter in the Store, given the name with a site's depth.
// Without a loop the two are equal.
func (s Spec) ParameterName(name string) string { return s.loop().Parameter(name) }

func (s Spec) loop() stream.Loop {
	return stream.Loop{Begin: s.LoopBegin, End: s.LoopEnd, Times: s.Loops}
}

// IsZero tells whether the Spec is not one that Resolve made.
func (s Spec) IsZero() bool { return s.design == nil }

func errUnresolved() error {
	return errors.New("want a Spec that Config.Resolve made, got the zero value")
}

// With resolves a copy of the model's config with changes. The copy has the defaults filled in:
// a change that takes rope away has to take its RopeBase and RopeScaling away, too.
func (s Spec) With(change func(c *Config)) (Spec, error) {
	c := s.Config
	change(&c)
	return c.Resolve()
}

// Design returns the stream's settings, including those that the model gives to it.
func (s Spec) Design() stream.Design { return s.design }

// Shape returns the stream's shape.
func (s Spec) Shape() stream.Shape { return s.shape }

// HeadDim is the size of one attention head.
func (s Spec) HeadDim() int { return s.shape.HeadDim }

// HeadCount is the number of attention heads.
func (s Spec) HeadCount() int { return s.shape.Heads }

// KVHeads is the number of heads of keys and values.
func (s Spec) KVHeads() int {
	if s.Attention.KVHeads == 0 {
		return s.shape.Heads
	}
	return s.Attention.KVHeads
}

// Width is the number of features that blocks work on: R*Dv, or d_model.
func (s Spec) Width() int { return s.shape.Width }

// Features returns the number of features that the unembedding reads: Width, unless the stream says
// otherwise.
func (s Spec) Features() int { return cmp.Or(s.shape.Features, s.shape.Width) }

// StreamSize is the number of entries of a token's residual stream: Dk*Dv, d_model, n
// streams of it, or n slots of d_model/m. The depth-wise LSTM's cell, and what the next
// aggregate of hierarchical aggregation needs, are not counted.
func (s Spec) StreamSize() int { return s.shape.Size }

// FeedForwardShape returns the feed-forward's shape, all zeros if there is no feed-forward.
func (s Spec) FeedForwardShape() layers.FeedForwardShape {
	if s.FeedForward == nil {
		return layers.FeedForwardShape{}
	}
	return s.FeedForward.Shape()
}

// attentionOnly tells whether the model has no feed-forwards.
func (s Spec) attentionOnly() bool { return isStruct(s.FeedForward) && s.FeedForward.Shape().None }

// positionRows is the number of rows of the position table, 0 without one.
func (s Spec) positionRows() int {
	if s.Attention.Positions == PositionsLearned {
		return s.Seq
	}
	return 0
}

// init returns the initialisation that the config names.
func (s Spec) init() layers.Init {
	init := layers.Init{Std: 1, Embedding: s.EmbeddingStd, Layers: s.Depth(), All: s.Init == InitLeCunAll}
	if s.Init == InitPaper {
		init.Std = s.InitStd
	}
	return init
}

func (s Spec) norm() layers.NormConfig {
	return layers.NormConfig{RMS: s.Norm == NormRMS, Eps: s.NormEps, Bias: s.Bias}
}

// valueResidual returns the value residual that the attentions share, or nil if there is none.
func (s Spec) valueResidual() *layers.ValueResidual {
	if s.Attention.ValueResidual == "" {
		return nil
	}
	return &layers.ValueResidual{Learned: s.Attention.ValueResidual == ValuesLearned}
}

// valueEmbedding returns the sizes of the value embedding of a block's attention, and whether there
// is one: the last block has one, and every other block before it.
func (s Spec) valueEmbedding(block int) (sizes layers.ValueEmbeddingSizes, ok bool) {
	sizes = layers.ValueEmbeddingSizes{Vocab: s.Vocab, Width: s.Width(), Channels: s.Attention.ValueEmbeddings, Heads: s.KVHeads(), HeadDim: s.HeadDim()}
	return sizes, sizes.Channels > 0 && (s.Layers-1-block)%2 == 0
}

// attentionConfig returns the configuration of the attention at depth l.
func (s Spec) attentionConfig(l int, values *layers.ValueResidual) layers.AttentionConfig {
	block, a := s.loop().Block(l), s.Attention
	base, scaling := a.rope(block)
	return layers.AttentionConfig{Layer: block, Heads: s.HeadCount(), KVHeads: s.KVHeads(), HeadDim: s.HeadDim(), Scale: s.attentionScale(l),
		ALiBi: a.Positions == PositionsALiBi, RopeBase: base, RopePart: a.RopePart, Rope: scaling, SoftCap: a.Softcap,
		QKNorm: a.QKNorm, QKNormRow: a.QKNormOver == qkNormRow, NormEps: s.NormEps, Values: values, First: l == 0}
}

// feedForwardSizes returns the settings that the model gives to its feed-forwards.
func (s Spec) feedForwardSizes() layers.FeedForwardSizes {
	return layers.FeedForwardSizes{In: s.Width(), Bias: s.Bias || s.FFBias, ExactGelu: s.Gelu == GeluExact, AddsOutput: s.shape.AddsOutput,
		WidthRatio: s.ratios().WidthRatio, HiddenRatio: s.hiddenRatio(), Init: s.init()}
}

// writeSizes returns what a site reads and writes.
func (s Spec) writeSizes() stream.WriteSizes {
	return stream.WriteSizes{Width: s.Width(), Queries: s.HeadCount() * s.HeadDim(), KV: s.KVHeads() * s.HeadDim()}
}

// sites lists the sublayers that a token passes, in order.
func (s Spec) sites() (all []stream.Site) {
	for block := range s.Depth() {
		for _, sublayer := range s.shape.Sublayers {
			all = append(all, stream.Site{Block: block, Sublayer: sublayer, Index: len(all)})
		}
	}
	return all
}

// SameModel returns nil if two models have the same parameters and are the same function of
// them, otherwise an error that names a setting in which they differ. How a model starts and
// is trained (init, dropout, document masks, rows without a position table) may differ.
func (s Spec) SameModel(other Spec) error {
	a, first, err := s.function()
	if err != nil {
		return err
	}
	b, second, err := other.function()
	for _, key := range append(first, second...) {
		if want, got := a[key], b[key]; !reflect.DeepEqual(want, got) {
			return errors.Errorf("model.%s: want %v, got %v", key, cmp.Or(want, any("nothing")), cmp.Or(got, any("nothing")))
		}
	}
	return err
}

// function returns the settings that the model's function depends on, and their keys in reading
// order.
func (s Spec) function() (values map[string]any, keys []string, err error) {
	loop := s.loop()
	if loop.Times <= 1 {
		loop = stream.Loop{Times: 1}
	}
	values = map[string]any{}
	add := func(key string, value any) { values[key], keys = value, append(keys, key) }
	resolved := map[string]any{"loop_begin": loop.Begin, "loop_end": loop.End, "loops": loop.Times, "attention.head_dim": s.HeadDim(),
		"attention.heads": s.HeadCount(), "attention.kv_heads": s.KVHeads(),
		"embedding_scale": s.inputScale(), "logit_scale": s.logitScale(), "attention.scale": s.attentionScale(0)} // with muP's factors
	starts := []string{"preset", "seq", "init", "init_std", "embedding_std", "dropout"}
	entries, err := settings.Entries(s.Config)
	for _, e := range entries {
		if !e.Section && !slices.Contains(starts, e.Key) && !strings.HasPrefix(e.Key, "mup.") {
			add(e.Key, cmp.Or(resolved[e.Key], e.Value.Interface()))
		}
	}
	add("seq", s.positionRows())
	return values, keys, err
}
