package stream

import (
	"slices"
	"strings"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/delta"
	"github.com/residua-go/residua/graph/ops/shape"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream/linear"
)

// ConvWrites is the design of a short convolution over positions of what sublayers write.
type ConvWrites struct {
	Taps int      `yaml:"taps" default:"4" max:"4096" help:"positions that a filter sees, the token's own included"`
	At   []string `yaml:"at" default:"attention and feedforward" help:"what is convolved: what attention or feedforward writes, an attention's keys and values"`
}

// NoWrites leaves what sublayers write as it is.
type NoWrites struct{}

// The entries of ConvWrites.At beside the names of sublayers.
const (
	convKeys   = "keys"
	convValues = "values"
)

// Name returns "conv".
func (ConvWrites) Name() string { return "conv" }

// Card describes the convolution.
func (ConvWrites) Card() layers.Card {
	return layers.Card{
		Title:    "Convolution of what is written",
		Equation: "y_t <- y_t + sum over j of f_(K-1-j) ⊙ y_(t-j),   j = 0..K-1",
		Source:   "Thinking Machines' Inkling (transformers, InklingShortConvolution); marin, pull request 7585",
		Use: "Not a stream but an option of any of them: what a sublayer writes also reaches the next K-1 tokens, by a factor for each entry and " +
			"distance. Linear, so that what each head and neuron writes stays known. Filters start at 0, which makes it the model without them. It costs K " +
			"numbers for each entry, and generation keeps K-1 more vectors a site.",
	}
}

// Defaults sets four taps, for what both sublayers write.
func (c ConvWrites) Defaults() WritesDesign {
	c.Taps = orDefault(c.Taps, 4)
	if len(c.At) == 0 {
		c.At = []string{string(Attention), string(FeedForward)}
	}
	return c
}

// Check returns an error unless there is at least one tap, and what is convolved is known.
func (c ConvWrites) Check() error {
	if err := layers.CheckSize("taps", c.Taps); err != nil {
		return err
	}
	known := []string{string(Attention), string(FeedForward), convKeys, convValues}
	for i, at := range c.At {
		if !slices.Contains(known, at) || slices.Contains(c.At[:i], at) {
			return layers.Setting("at", "want each of %s at most once, got %v", strings.Join(known, ", "), c.At)
		}
	}
	return nil
}

// has tells whether something is convolved.
func (c ConvWrites) has(what string) bool { return slices.Contains(c.At, what) }

// Cost counts the filters of one sublayer. The backward pass keeps what each filter reads; where
// keys or values are convolved it keeps queries, keys and values.
func (c ConvWrites) Cost(at Sublayer, s WriteSizes) layers.Cost {
	width, kept := 0, 0
	if c.has(string(at)) {
		width, kept = s.Width, s.Width
	}
	for _, part := range []string{convKeys, convValues} {
		if at == Attention && c.has(part) {
			width += s.KV
		}
	}
	if width > kept {
		kept += s.Queries + 2*s.KV
	}
	k, w := float64(c.Taps), float64(width)
	return layers.Cost{Parameters: k * w, FLOPs: 2 * k * w, Activations: float64(kept)}
}

// New makes the filters of a site, [taps, entries], 0 at first: "conv", and of attention "k_conv"
// and "v_conv". They do not decay.
func (c ConvWrites) New(b *graph.Builder, at Site, s WriteSizes) Writes {
	w := &convWrites{b: b, sizes: s}
	filter := func(on bool, name string, width int) *gorgonia.Node {
		if !on {
			return nil
		}
		return b.Param(layers.Zero(at.Name()+name, c.Taps, width))
	}
	w.filter = filter(c.has(string(at.Sublayer)), ".conv", s.Width)
	attends := at.Sublayer == Attention
	w.keys, w.values = filter(attends && c.has(convKeys), ".k_conv", s.KV), filter(attends && c.has(convValues), ".v_conv", s.KV)
	return w
}

// convWrites holds the filters of a site; nil ones convolve nothing.
type convWrites struct {
	b                    *graph.Builder
	sizes                WriteSizes
	filter, keys, values *gorgonia.Node
}

// Written convolves y.
func (w *convWrites) Written(y *gorgonia.Node, rows TokenRows) *gorgonia.Node {
	return w.convolve(y, w.filter, 0, rows)
}

// convolve convolves the entries of x from first on.
func (w *convWrites) convolve(x, filter *gorgonia.Node, first int, rows TokenRows) *gorgonia.Node {
	if filter == nil {
		return x
	}
	return delta.Convolve(w.b, x, delta.ReadOptions{Seq: rows.Seq, Filter: filter, Starts: rows.Starts, First: first})
}

// Heads convolves keys and values.
func (w *convWrites) Heads(qkv *gorgonia.Node, rows TokenRows) *gorgonia.Node {
	filter, first := w.keys, w.sizes.Queries
	switch {
	case w.keys == nil:
		filter, first = w.values, first+w.sizes.KV
	case w.values != nil:
		filter = shape.Concat(w.b, w.keys, w.values) // [taps, 2 KV]
	}
	return w.convolve(qkv, filter, first, rows)
}

// Over returns the convolution.
func (w *convWrites) Over() linear.Over {
	if w.filter == nil {
		return nil
	}
	return linear.Convolution{Filter: values(w.b, w.filter.Name()), Size: w.sizes.Width}
}

// Name returns "none".
func (NoWrites) Name() string { return "none" }

// Card describes nothing.
func (NoWrites) Card() layers.Card {
	return layers.Card{Title: "Nothing", Use: "What sublayers write is written."}
}

// Check returns nil.
func (NoWrites) Check() error { return nil }

// Cost returns no cost.
func (NoWrites) Cost(Sublayer, WriteSizes) layers.Cost { return layers.Cost{} }

// New returns nil: a model without a kind has no Writes.
func (NoWrites) New(*graph.Builder, Site, WriteSizes) Writes { return nil }
