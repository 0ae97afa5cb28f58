package main

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
)

// HeadGain is the settings of our attention: softmax attention with a learned gain for each head.
// Its methods replace methods of the embedded design where our attention differs.
type HeadGain struct {
	layers.SoftmaxAttention
	Start float64 `yaml:"start" default:"1" help:"what each head's gain starts as"`
}

// Name returns the kind that model.attention names.
func (HeadGain) Name() string { return "headgain" }

// Card describes HeadGain.
func (HeadGain) Card() layers.Card {
	return layers.Card{
		Title:    "Gains of heads",
		Equation: "o_h <- g_h o_h,   g [H] learned for each block",
		Source:   "an example",
		Use:      "Heads that are of no use can fade, and the gains tell which do.",
	}
}

// Defaults sets the initial gains to 1.
func (c HeadGain) Defaults() layers.AttentionDesign {
	if c.Start == 0 {
		c.Start = 1
	}
	return c
}

// Check refuses a start of 0 or less.
func (c HeadGain) Check(int) error { return layers.CheckPositive("start", c.Start) }

// Cost adds the cost of the gains to that of softmax attention. Their backward pass keeps the
// tensors that they multiply.
func (c HeadGain) Cost(a layers.AttentionConfig, seq float64) layers.Cost {
	heads := float64(a.Heads)
	return c.SoftmaxAttention.Cost(a, seq).Plus(layers.Cost{Parameters: heads, Activations: heads * float64(a.HeadDim)})
}

// New makes the softmax attention and its gains, the parameter name.head_gain [H].
func (c HeadGain) New(b *graph.Builder, name string, a layers.AttentionConfig) layers.Attention {
	attention := layers.NewAttention(b, name, a)
	g := b.Param(graph.ParamSpec{Name: name + ".head_gain", Shape: []int{a.Heads}, Init: graph.Initializer{Offset: c.Start}})
	attention.PerHead = func(heads *gorgonia.Node) *gorgonia.Node { return b.Apply(gain{}, heads, g) }
	return attention
}
