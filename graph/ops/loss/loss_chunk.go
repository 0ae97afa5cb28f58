package loss

import (
	"cmp"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/ops/linear"
)

// deviceLogitBytes bounds the logits, 32-bit floats, that are in a device's memory at one
// time (one token's are always allowed).
const deviceLogitBytes = 256 << 20

// logitStride is the length of a row of logits on a device: rows begin at 32 bytes.
func logitStride(vocab int) int { return (vocab + 7) / 8 * 8 }

// chunk is the number of tokens taken at a time: as many as their logits' bound allows,
// spread evenly up to whole tiles of the matrix products.
func (k lossConfig) chunk(tokens, stride int) int {
	const tile = 128
	most := max(1, cmp.Or(k.logitBytes, deviceLogitBytes)/(stride*cuda.F32.Size()))
	chunks := (tokens + most - 1) / most
	even := (tokens + chunks - 1) / chunks
	return min(most, tokens, (even+tile-1)/tile*tile)
}

// DeviceBytes: the logits of a chunk, and two numbers a token.
func (k lossConfig) DeviceBytes(c graph.Cost) (saved, scratch int) {
	tokens := c.Signature(0).Leading()
	_, vocab := linear.Product{Transposed: k.transposed}.Sides(c.Signature(1))
	stride := logitStride(vocab)
	return 0, (2*tokens + k.chunk(tokens, stride)*stride) * cuda.F32.Size()
}
