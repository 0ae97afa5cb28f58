package loss

import (
	"cmp"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/ops/linear"
)

// deviceLogitBytes bounds the logits, of the activations' type, that are in a device's memory at one
// time (one token's are always allowed).
const deviceLogitBytes = 512 << 20

// logitStride is the length of a row of logits on a device: rows of at least 16 bytes' alignment, and sizes of whole tiles, are what
// tensor cores are fast with. On an H100 rows of 50257 made the three products four times as slow.
func logitStride(vocab int) int { return (vocab + 63) / 64 * 64 }

// unaligned tells whether rows of the unembedding, which are as long as the vocabulary, do not begin at multiples of 16 bytes.
func (k lossConfig) unaligned(vocab int, t cuda.Type) bool {
	return !k.transposed && vocab*t.Size()%16 != 0
}

// chunk is the number of tokens taken at a time: as many as their logits' bound allows,
// spread evenly up to whole tiles of the matrix products.
func (k lossConfig) chunk(tokens, stride int, t cuda.Type) int {
	const tile = 128
	most := max(1, cmp.Or(k.logitBytes, deviceLogitBytes)/(stride*t.Size()))
	chunks := (tokens + most - 1) / most
	even := (tokens + chunks - 1) / chunks
	return min(most, tokens, (even+tile-1)/tile*tile)
}

// DeviceBytes: the logits of a chunk, two numbers a token, and where rows of the unembedding are unaligned, a copy of it and one of its
// gradient.
func (k lossConfig) DeviceBytes(c graph.Cost) (saved, scratch int) {
	tokens, t := c.Signature(0).Leading(), c.Activation()
	features, vocab := linear.Product{Transposed: k.transposed}.Sides(c.Signature(1))
	stride := logitStride(vocab)
	scratch = 2*tokens*cuda.F32.Size() + k.chunk(tokens, stride, t)*stride*t.Size()
	if k.unaligned(vocab, t) {
		scratch += features * stride * (t.Size() + c.Secondary(1)*cuda.F32.Size())
	}
	return 0, scratch
}
