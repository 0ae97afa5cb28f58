package layers_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
)

// TestInit: how each kind of parameter starts, decays and is scaled by muP.
func TestInit(t *testing.T) {
	init := layers.Init{Std: 0.5, Embedding: 0.03, Layers: 8}
	shape := []int{16, 3}
	for _, c := range []struct{ want, got graph.ParamSpec }{
		{graph.ParamSpec{Name: "w", Shape: shape, Init: graph.Normal(0.125), Decay: true, WidthRatio: 2, Role: graph.RoleHidden}, init.Hidden("w", 16, 2, shape...)},               // 0.5/sqrt(16)
		{graph.ParamSpec{Name: "w", Shape: shape, Init: graph.Normal(0.03125), Decay: true, WidthRatio: 3, Role: graph.RoleHidden}, init.Output("w", 16, 3, shape...)},             // 0.125/sqrt(2*8)
		{graph.ParamSpec{Name: "w", Shape: shape, Init: graph.Normal(0.25), Decay: true, WidthRatio: 1, Role: graph.RoleHidden}, layers.Init{Std: 1}.Output("w", 16, 1, shape...)}, // no layers, no factor
		{graph.ParamSpec{Name: "w", Shape: shape, Init: graph.Normal(0.03)}, init.Input("w", shape...)},
		{graph.ParamSpec{Name: "w", Shape: shape, Init: graph.Initializer{Offset: 1}}, layers.Gain("w", shape...)},
		{graph.ParamSpec{Name: "w", Shape: shape}, layers.Zero("w", shape...)},
	} {
		assert.Equal(t, c.want, c.got)
	}
}

// TestParameters: the names, shapes and treatment of the parameters that each layer makes.
func TestParameters(t *testing.T) {
	b := graph.On(gorgonia.NewGraph(), graph.Options{})
	init := layers.Init{Std: 2, Embedding: 0.1, Layers: 2}
	layers.NewEmbedding(b, "e", init, 1, 7, 2, 3)
	layers.NewNorm(b, "n", layers.NormConfig{Bias: true}, 4, 5)
	layers.GELUConfig{Hidden: 25}.New(b, "hidden", layers.FeedForwardSizes{In: 16, WidthRatio: 2, HiddenRatio: 3, Init: init})
	layers.GELUConfig{Hidden: 25}.New(b, "written", layers.FeedForwardSizes{In: 16, Bias: true, AddsOutput: true, Init: init})
	layers.NewUnembedding(b, "u", layers.UnembeddingConfig{Features: 6, Vocab: 7})
	layers.NewAttention(b, "a", layers.AttentionConfig{Heads: 2})
	assert.NoError(t, b.Err())
	var got []graph.ParamSpec
	for _, p := range b.Store().Params() {
		got = append(got, p.ParamSpec)
	}
	assert.Equal(t, []graph.ParamSpec{
		{Name: "e", Shape: []int{7, 2, 3}, Init: graph.Normal(0.1)},
		{Name: "n", Shape: []int{4, 5}, Init: graph.Ones()},
		{Name: "n_bias", Shape: []int{4, 5}},
		{Name: "hidden.w1", Shape: []int{16, 25}, Init: graph.Normal(0.5), Decay: true, WidthRatio: 2, Role: graph.RoleHidden},
		{Name: "hidden.w2", Shape: []int{25, 16}, Init: graph.Normal(0.4), Decay: true, WidthRatio: 3, Role: graph.RoleHidden},
		{Name: "written.w1", Shape: []int{16, 25}, Init: graph.Normal(0.5), Decay: true, Role: graph.RoleHidden},
		{Name: "written.w2", Shape: []int{25, 16}, Init: graph.Normal(0.2), Decay: true, Role: graph.RoleHidden},
		{Name: "written.w1_bias", Shape: []int{25}},
		{Name: "written.w2_bias", Shape: []int{16}},
		{Name: "u", Shape: []int{6, 7}},
	}, got)
}

// TestLayerErrors: a shape that does not fit is the builder's error, not a panic.
func TestLayerErrors(t *testing.T) {
	for want, build := range map[string]func(b *graph.Builder){
		`the name "n" is taken`: func(b *graph.Builder) {
			layers.NewNorm(b, "n", layers.NormConfig{}, 4)
			layers.NewNorm(b, "n", layers.NormConfig{}, 4)
		},
		"qkv: want [tokens, (heads+2*kv_heads)*Dh] with 5 heads of queries and 5 of keys and values, got (4, 12)": func(b *graph.Builder) {
			layers.NewAttention(b, "a", layers.AttentionConfig{Heads: 5, Scale: 1}).Forward(b.Input("x", tensor.Float32, 4, 12), 4, nil)
		},
		"want x [tokens, 6] for a weight of shape (6, 2), got (4, 5)": func(b *graph.Builder) {
			layers.GELUConfig{Hidden: 2}.New(b, "f", layers.FeedForwardSizes{In: 6}).Forward(b.Input("x", tensor.Float32, 4, 5))
		},
		"gain: want the last axes of x (4, 5), got shape (6)": func(b *graph.Builder) {
			layers.NewNorm(b, "n", layers.NormConfig{}, 6).Forward(b.Input("x", tensor.Float32, 4, 5))
		},
	} {
		b := graph.On(gorgonia.NewGraph(), graph.Options{})
		build(b)
		assert.ErrorContains(t, b.Err(), want)
	}
}
