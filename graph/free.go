package graph

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
)

// The functions of this file are a Builder's methods for code that has no Builder: each
// works on the graph of its nodes as On(g, Options{}) does, and returns the error itself.
// Dropout and Hook, which do nothing under those options, need a Builder, and so do
// caches and parameters.

// Embedding is Builder.Embedding.
func Embedding(table, ids *gorgonia.Node, scale float64) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.Embedding(table, ids, scale) }, table, ids)
}

// Linear is Builder.Linear.
func Linear(x, w *gorgonia.Node, o LinearOptions) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.Linear(x, w, o) }, x, w)
}

// Bias is Builder.Bias.
func Bias(x, bias *gorgonia.Node) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.Bias(x, bias) }, x, bias)
}

// Norm is Builder.Norm.
func Norm(x, gain *gorgonia.Node, o NormOptions) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.Norm(x, gain, o) }, x, gain)
}

// LayerNorm is Builder.LayerNorm.
func LayerNorm(x, gain *gorgonia.Node) (*gorgonia.Node, error) {
	return Norm(x, gain, NormOptions{})
}

// RMSNorm is Builder.RMSNorm.
func RMSNorm(x, gain *gorgonia.Node) (*gorgonia.Node, error) {
	return Norm(x, gain, NormOptions{RMS: true})
}

// Read is Builder.Read.
func Read(x, keys *gorgonia.Node) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.Read(x, keys) }, x, keys)
}

// Write is Builder.Write. x may be nil.
func Write(x, keys, y *gorgonia.Node) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.Write(x, keys, y) }, x, keys, y)
}

// NormRead is Builder.NormRead.
func NormRead(x, gain, keys *gorgonia.Node, o NormOptions) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.NormRead(x, gain, keys, o) }, x, gain, keys)
}

// Reshape is Builder.Reshape.
func Reshape(x *gorgonia.Node, axes ...int) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.Reshape(x, axes...) }, x)
}

// MixRead is Builder.MixRead.
func MixRead(h, c *gorgonia.Node, m int) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.MixRead(h, c, m) }, h, c)
}

// MixWrite is Builder.MixWrite.
func MixWrite(h, y, c *gorgonia.Node, m int) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.MixWrite(h, y, c, m) }, h, y, c)
}

// Copies is Builder.Copies.
func Copies(x *gorgonia.Node, n int) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.Copies(x, n) }, x)
}

// SumCopies is Builder.SumCopies.
func SumCopies(h *gorgonia.Node) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.SumCopies(h) }, h)
}

// NormLinear is Builder.NormLinear. gain may be nil.
func NormLinear(x, gain, w *gorgonia.Node, o NormOptions) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.NormLinear(x, gain, w, o) }, x, gain, w)
}

// TanhCoefficients is Builder.TanhCoefficients.
func TanhCoefficients(z, static, scale *gorgonia.Node, tau float64) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.TanhCoefficients(z, static, scale, tau) }, z, static, scale)
}

// SinkhornCoefficients is Builder.SinkhornCoefficients.
func SinkhornCoefficients(z, alpha, bias *gorgonia.Node, n, iterations int) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.SinkhornCoefficients(z, alpha, bias, n, iterations) }, z, alpha, bias)
}

// PermutationCoefficients is Builder.PermutationCoefficients.
func PermutationCoefficients(z, alpha, bias *gorgonia.Node, n int) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.PermutationCoefficients(z, alpha, bias, n) }, z, alpha, bias)
}

// Gelu is Builder.Gelu.
func Gelu(x *gorgonia.Node, exact bool) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.Gelu(x, exact) }, x)
}

// LinearGelu is Builder.LinearGelu.
func LinearGelu(x, w *gorgonia.Node, exact bool) (h, y *gorgonia.Node, err error) {
	y, err = free(func(b *Builder) *gorgonia.Node {
		before, after := b.LinearGelu(x, w, exact)
		h = before
		return after
	}, x, w)
	return h, y, err
}

// Sigmoid is Builder.Sigmoid.
func Sigmoid(x *gorgonia.Node) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.Sigmoid(x) }, x)
}

// GLU is Builder.GLU.
func GLU(x *gorgonia.Node, addends ...*gorgonia.Node) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.GLU(x, addends...) }, x)
}

// LSTMCell is Builder.LSTMCell.
func LSTMCell(c *gorgonia.Node, g LSTMGates) (cell, hidden *gorgonia.Node, err error) {
	hidden, err = free(func(b *Builder) *gorgonia.Node {
		state, output := b.LSTMCell(c, g)
		cell = state
		return output
	}, c)
	return cell, hidden, err
}

// MoE is Builder.MoE.
func MoE(u, router, w1, w2 *gorgonia.Node, o MoEOptions) (m MoEOutput, err error) {
	_, err = free(func(b *Builder) *gorgonia.Node {
		m = b.MoE(u, router, w1, w2, o)
		return m.Y
	}, u, router, w1, w2)
	return m, err
}

// CausalAttention is Builder.CausalAttention.
func CausalAttention(qkv *gorgonia.Node, o AttentionOptions) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.CausalAttention(qkv, o) }, qkv)
}

// AttentionPattern is Builder.AttentionPattern.
func AttentionPattern(qkv *gorgonia.Node, o AttentionOptions) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.AttentionPattern(qkv, o) }, qkv)
}

// AttentionMix is Builder.AttentionMix.
func AttentionMix(pattern, qkv *gorgonia.Node, o AttentionOptions) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.AttentionMix(pattern, qkv, o) }, pattern, qkv)
}

// CrossEntropy is Builder.CrossEntropy.
func CrossEntropy(x, w, targets *gorgonia.Node, o LossOptions) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.CrossEntropy(x, w, targets, o) }, x, w, targets)
}

// TokenLosses is Builder.TokenLosses.
func TokenLosses(x, w, targets *gorgonia.Node, o LossOptions) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.TokenLosses(x, w, targets, o) }, x, w, targets)
}

// Add is Builder.Add.
func Add(inputs ...*gorgonia.Node) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.Add(inputs...) }, inputs...)
}

// Concat is Builder.Concat.
func Concat(inputs ...*gorgonia.Node) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.Concat(inputs...) }, inputs...)
}

// Slice is Builder.Slice.
func Slice(x *gorgonia.Node, from, to int) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.Slice(x, from, to) }, x)
}

// Scale is Builder.Scale.
func Scale(x *gorgonia.Node, factor float64) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.Scale(x, factor) }, x)
}

// Positions is Builder.Positions.
func Positions(tokens *gorgonia.Node) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.Positions(tokens) }, tokens)
}

// DocumentStarts is Builder.DocumentStarts.
func DocumentStarts(tokens *gorgonia.Node, bos int) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.DocumentStarts(tokens, bos) }, tokens)
}

// free makes a node in the graph that nodes belong to.
func free(make func(*Builder) *gorgonia.Node, nodes ...*gorgonia.Node) (*gorgonia.Node, error) {
	for _, n := range nodes {
		if n == nil {
			continue
		}
		b := On(n.Graph(), Options{})
		b.join()
		return make(b), b.Err()
	}
	return nil, errors.New("graph: want a node, got nil")
}

// join makes b's nodes run on the workers of the nodes of ours that its graph has already.
func (b *Builder) join() {
	if b.err != nil {
		return
	}
	nodes := b.g.AllNodes()
	for i := len(nodes) - 1; i >= 0; i-- {
		if op := opOf(nodes[i]); op != nil {
			b.runtime, b.options.salt = op.builder.runtime, op.builder.options.salt
			return
		}
	}
}
