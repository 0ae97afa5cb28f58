package loss

import (
	"cmp"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/graph/ops/linear"
)

// deviceLogitBytes bounds the logits, in the activations' type, that are in a device's memory at a
// time. One token's logits are always allowed.
const deviceLogitBytes = 512 << 20

// logitStride returns the length of a row of logits on a device. Tensor cores are fast with whole
// tiles, and cuBLAS uses much slower kernels if a size of a product is odd: on an H100 a vocabulary
// of 50257 made the three products of the loss four times as slow.
func logitStride(vocab int) int { return (vocab + 63) / 64 * 64 }

// uneven tells whether rows with one entry for each token of the vocabulary do not end at multiples
// of 16 bytes. The products then use copies of the unembedding and its gradient that are padded to
// logitStride tokens.
func uneven(vocab int, t cuda.Type) bool { return vocab*t.Size()%16 != 0 }

// chunk returns the number of tokens taken at a time: as many as the bound on logits allows,
// divided evenly and rounded up to whole tiles of the matrix products.
func (k lossConfig) chunk(tokens, stride int, t cuda.Type) int {
	const tile = 128
	most := max(1, cmp.Or(k.logitBytes, deviceLogitBytes)/(stride*t.Size()))
	chunks := (tokens + most - 1) / most
	even := (tokens + chunks - 1) / chunks
	return min(most, tokens, (even+tile-1)/tile*tile)
}

// HostBytes counts the logits that are in memory at a time.
func (k lossConfig) HostBytes(c graph.Cost) int {
	_, vocab := linear.Product{Transposed: k.transposed}.Sides(c.Signature(1))
	return kernel.CrossEntropyBytes(c.Signature(0).Leading(), vocab, int(c.Result().DType.Size()))
}

// DeviceBytes counts the logits of a chunk, two numbers for each token, and for an uneven
// vocabulary a copy of the unembedding and one of its gradient.
func (k lossConfig) DeviceBytes(c graph.Cost) (saved, scratch int) {
	tokens, t := c.Signature(0).Leading(), c.Activation()
	features, vocab := linear.Product{Transposed: k.transposed}.Sides(c.Signature(1))
	stride := logitStride(vocab)
	scratch = 2*tokens*cuda.F32.Size() + k.chunk(tokens, stride, t)*stride*t.Size()
	if uneven(vocab, t) {
		scratch += features * stride * (t.Size() + c.Secondary(1)*cuda.F32.Size())
	}
	return 0, scratch
}
