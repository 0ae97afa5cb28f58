package models_test

import (
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// link says where the entries of one of their tensors lie in ours: entry (i, j, ...) of
// theirs is entry base + i*strides[0] + j*strides[1] + ... of ours. When layers is set,
// their first axis counts layers and ours is a pattern with the layer's number.
type link struct {
	theirs, ours string
	layers       bool
	base         int
	split        []int // the shape that strides refer to, if it differs from theirs
	strides      []int
}

// each calls f with our tensor's name and both flat indices of every entry.
func (l link) each(t *testing.T, shape []int, f func(ours string, their, our int)) {
	layers, name := 1, l.ours
	if l.layers {
		layers, shape = shape[0], shape[1:]
	}
	if l.split != nil {
		shape = l.split
	}
	require.Len(t, l.strides, len(shape), l.theirs)
	size := 1
	for _, d := range shape {
		size *= d
	}
	for layer := range layers {
		if l.layers {
			name = fmt.Sprintf(l.ours, layer)
		}
		for i := range size {
			our, rest := l.base, i
			for axis := len(shape) - 1; axis >= 0; axis-- {
				our += rest % shape[axis] * l.strides[axis]
				rest /= shape[axis]
			}
			f(name, layer*size+i, our)
		}
	}
}

// names lists our tensors of a link, for up to maxLayers layers.
func (l link) names() []string {
	if !l.layers {
		return []string{l.ours}
	}
	const maxLayers = 64
	names := make([]string, maxLayers)
	for i := range names {
		names[i] = fmt.Sprintf(l.ours, i)
	}
	return names
}

func linked(links []link) []string {
	names := []string{}
	for _, l := range links {
		names = append(names, l.theirs)
	}
	sort.Strings(names)
	return names
}

// same links tensors that have the same layout and the same name.
func same(name string, strides ...int) link { return link{theirs: name, ours: name, strides: strides} }

// readRMT reads the paper form, with the names of maths.md.
func readRMT(t *testing.T, r *reference) {
	c := r.sizes(t)
	keys := []int{c.Dk, 1}
	r.weights = []link{same("embedding", c.Rank*c.Dv, c.Dv, 1), same("positions", c.Rank*c.Dv, c.Dv, 1), same("write_embedding", keys...),
		same("write_positions", keys...), same("norm", c.Dv, 1), same("read_unembedding", keys...), same("unembedding", c.Vocab, 1)}
	for l := range c.Layers {
		a, f := fmt.Sprintf("blocks.%d.attention.", l), fmt.Sprintf("blocks.%d.feedforward.", l)
		r.weights = append(r.weights, same(a+"norm", c.Dv, 1), same(a+"write", keys...), same(f+"norm", c.Dv, 1), same(f+"read", keys...),
			same(f+"w1", c.FF, 1), same(f+"w2", c.Rank*c.Dv, 1), same(f+"write", keys...))
		for name, tensor := range readTensors(t, r.dir, "weights.safetensors").byName {
			if filter, ok := c.filter(name, tensor.Shape); ok && (strings.HasPrefix(name, a) || strings.HasPrefix(name, f)) {
				r.weights = append(r.weights, filter)
			}
		}
		for i, name := range []string{"read_q", "read_k", "read_v"} {
			r.weights = append(r.weights, link{theirs: a + name, ours: a + "read", base: i * c.Rank * c.Dk, strides: keys})
		}
	}
}

// normName returns the first part of "layernorm, gain only".
func normName(text string) string { return strings.Split(text, ",")[0] }

// readOfficialRMT reads the RMT authors' layout: (ResVal, ResKey) streams, (ResVal, Rank) features,
// layers stacked.
func readOfficialRMT(t *testing.T, r *reference) {
	var c struct {
		Vocab     int `json:"vocab_size"`
		Rank      int
		Dk        int     `json:"reskey_dim"`
		Dv        int     `json:"resval_dim"`
		Layers    int     `json:"n_layers"`
		FF        int     `json:"n_neurons"`
		BaseRank  int     `json:"base_rank"`
		BaseDk    int     `json:"base_reskey_dim"`
		BaseDv    int     `json:"base_resval_dim"`
		BaseFF    int     `json:"base_n_neurons"`
		In        float64 `json:"input_multiplier"`
		Out       float64 `json:"output_multiplier"`
		Attention float64 `json:"attn_multiplier"`
		Eps       float64 `json:"rmsnorm_eps"`
		Decay     float64 `json:"weight_decay"`
	}
	r.decode(t, &c)
	r.checkDecay(t, c.Decay)
	base := models.MuPBase{Stream: stream.MatrixConfig{Dk: c.BaseDk, Dv: c.BaseDv, Rank: c.BaseRank}, FeedForward: gelu(c.BaseFF)}
	officialConfig(r, models.Config{Stream: stream.MatrixConfig{Dk: c.Dk, Dv: c.Dv, Rank: c.Rank}, Layers: c.Layers, FeedForward: gelu(c.FF), Vocab: c.Vocab, NormEps: c.Eps,
		MuP: &models.MuP{Base: base, InputMultiplier: c.In, OutputMultiplier: c.Out, AttnMultiplier: c.Attention}})
	width := c.Rank * c.Dv
	keys, state := []int{c.Dk, 1}, []int{1, c.Dv}
	layer := func(theirs, ours string, strides ...int) link {
		return link{theirs: "rmt_stack.stacked." + theirs, ours: "blocks.%d." + ours, layers: true, strides: strides}
	}
	r.weights = []link{
		{theirs: "embedding.param", ours: "embedding", strides: []int{width, 1, c.Dv}},
		{theirs: "storage_linear.param", ours: "write_embedding", strides: keys},
		{theirs: "norm.param", ours: "norm", strides: state},
		{theirs: "retrieval_linear.param", ours: "read_unembedding", strides: []int{1, c.Dk}},
		{theirs: "unembedding.param", ours: "unembedding", strides: []int{c.Vocab, c.Dv * c.Vocab, 1}},
		layer("attention.module.norm.param", "attention.norm", state...),
		layer("attention.module.qkv_linear.param", "attention.read", 1, c.Rank*c.Dk, c.Dk),
		layer("attention.module.out_linear.param", "attention.write", keys...),
		layer("mlp.module.norm.param", "feedforward.norm", state...),
		layer("mlp.module.retrieval_linear.param", "feedforward.read", 1, c.Dk),
		layer("mlp.module.W1.param", "feedforward.w1", c.FF, c.Dv*c.FF, 1),
		layer("mlp.module.W2.param", "feedforward.w2", width, 1, c.Dv),
		layer("mlp.module.storage_linear.param", "feedforward.write", keys...),
	}
	n, x := r.expected.Seq, c.Dk*c.Dv
	r.watched = append(watchedRMT(n, x, width, c.Dv), commonWatched(n, c.FF)...)
}

func watchedRMT(n, x, width, dv int) []link {
	state := []int{n * x, x, 1, dv}
	var links []link
	for i, name := range []string{"query", "key", "value"} {
		links = append(links, link{theirs: name, ours: "blocks.%d.attention.qkv", layers: true, base: i * width, strides: []int{3 * n * width, 3 * width, 1, dv}})
	}
	return append(links,
		link{theirs: "embedding", ours: "embedding.out", strides: state},
		link{theirs: "attn_in", ours: "blocks.%d.attention.norm.out", layers: true, strides: state},
		link{theirs: "attn_out", ours: "blocks.%d.attention.write", layers: true, strides: state},
		link{theirs: "MHA_residual", ours: "blocks.%d.attention.stream", layers: true, strides: state},
		link{theirs: "MLP_residual", ours: "blocks.%d.feedforward.stream", layers: true, strides: state},
		link{theirs: "mlp_in", ours: "blocks.%d.feedforward.in", layers: true, strides: []int{n * width, width, 1, dv}},
		link{theirs: "mlp_out", ours: "blocks.%d.feedforward.out", layers: true, strides: []int{n * width, width, 1, dv}},
	)
}

func commonWatched(n, ff int) []link {
	return []link{
		{theirs: "pre_activations", ours: "blocks.%d.feedforward.hidden", layers: true, strides: []int{n * ff, ff, 1}},
		{theirs: "activations", ours: "blocks.%d.feedforward.activations", layers: true, strides: []int{n * ff, ff, 1}},
	}
}

// checkDecay checks the config's weight decay against the one that the training steps used.
func (r *reference) checkDecay(t *testing.T, decay float64) {
	if r.expected.Training != nil {
		require.Equal(t, r.expected.Training.WeightDecay, decay, "weight_decay of %s", r.dir)
	}
}

// officialConfig sets the config, with what both official models have in common.
func officialConfig(r *reference, c models.Config) {
	c.Seq, c.Norm, c.Attention.Positions, c.Attention.InverseLayerScaling = r.expected.Seq, models.NormRMS, models.PositionsALiBi, true
	c.MaskDocuments, c.BOS = true, r.expected.BOS
	r.config, r.auxiliary.ZLoss = c, r.expected.ZLoss
}

// readOfficialTransformer reads the transformer of the same repository.
func readOfficialTransformer(t *testing.T, r *reference) {
	var c struct {
		Vocab       int     `json:"vocab_size"`
		D           int     `json:"embed_dim"`
		Heads       int     `json:"n_heads"`
		HeadDim     int     `json:"head_dim"`
		Layers      int     `json:"n_layers"`
		FF          int     `json:"n_neurons"`
		BaseD       int     `json:"base_embed_dim"`
		BaseHeads   int     `json:"base_n_heads"`
		BaseHeadDim int     `json:"base_head_dim"`
		BaseFF      int     `json:"base_n_neurons"`
		In          float64 `json:"input_multiplier"`
		Out         float64 `json:"output_multiplier"`
		Attention   float64 `json:"attn_multiplier"`
		Eps         float64 `json:"rmsnorm_eps"`
		Decay       float64 `json:"weight_decay"`
	}
	r.decode(t, &c)
	r.checkDecay(t, c.Decay)
	w := c.Heads * c.HeadDim
	base := models.MuPBase{Stream: vectorOf(c.BaseD), Attention: models.BaseHeads{Heads: c.BaseHeads, HeadDim: c.BaseHeadDim}, FeedForward: gelu(c.BaseFF)}
	officialConfig(r, models.Config{Stream: vectorOf(c.D), Attention: models.Attention{Heads: c.Heads, HeadDim: c.HeadDim}, Layers: c.Layers, FeedForward: gelu(c.FF), Vocab: c.Vocab, NormEps: c.Eps,
		MuP: &models.MuP{Base: base, InputMultiplier: c.In, OutputMultiplier: c.Out, AttnMultiplier: c.Attention}})
	layer := func(theirs, ours string, strides ...int) link {
		return link{theirs: "transformer_stack.stacked." + theirs, ours: "blocks.%d." + ours, layers: true, strides: strides}
	}
	r.weights = []link{
		{theirs: "embedding.param", ours: "embedding", strides: []int{c.D, 1}},
		{theirs: "norm.param", ours: "norm", strides: []int{1}},
		{theirs: "unembedding.param", ours: "unembedding", strides: []int{c.Vocab, 1}},
		layer("attention.module.norm.param", "attention.norm", 1),
		layer("attention.module.qkv_linear.param", "attention.qkv", 3*w, w, c.HeadDim, 1),
		layer("attention.module.out_linear.param", "attention.o", c.HeadDim*c.D, c.D, 1),
		layer("mlp.module.norm.param", "feedforward.norm", 1),
		layer("mlp.module.W1.param", "feedforward.w1", c.FF, 1),
		layer("mlp.module.W2.param", "feedforward.w2", c.D, 1),
	}
	n := r.expected.Seq
	state := []int{n * c.D, c.D, 1}
	for i, name := range []string{"query", "key", "value"} {
		r.watched = append(r.watched, link{theirs: name, ours: "blocks.%d.attention.qkv", layers: true, base: i * w, strides: []int{3 * n * w, 3 * w, c.HeadDim, 1}})
	}
	r.watched = append(r.watched, link{theirs: "embedding", ours: "embedding.out", strides: state})
	for theirs, ours := range map[string]string{"attn_in": "attention.norm.out", "attn_out": "attention.write", "MHA_residual": "attention.stream",
		"MLP_residual": "feedforward.stream", "mlp_in": "feedforward.in", "mlp_out": "feedforward.out"} {
		r.watched = append(r.watched, link{theirs: theirs, ours: "blocks.%d." + ours, layers: true, strides: state})
	}
	r.watched = append(r.watched, commonWatched(n, c.FF)...)
}
