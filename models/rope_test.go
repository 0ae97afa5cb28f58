package models_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// ropeTable are attention weights, computed by hand from the equation. One head of 4
// entries has the pairs (0, 2), turned by 1 a token, and (1, 3), turned by base^(-1/2).
// With q = (1, 1, 0, 0) and k = (0, 1, 1, 0) at every token the first pair gives
// sin(i-j), the second cos((i-j) base^(-1/2)), so that logit (i, j) is half
//
//	sin(i-j) + cos((i-j) base^(-1/2))
//
// and the weights are the softmax over j <= i.
var ropeTable = map[float64][3][3]float64{
	10000: {{1, 0, 0}, {0.603653252000, 0.396346748000, 0}, {0.384399199461, 0.371609425179, 0.243991375360}},
	4:     {{1, 0, 0}, {0.588925874406, 0.411074125594, 0}, {0.339800841266, 0.388808366840, 0.271390791895}},
}

// TestRoPEInAModel gives attention known queries and keys, and values that show the weights: v_j is
// unit vector j.
func TestRoPEInAModel(t *testing.T) {
	for base, want := range ropeTable {
		for name, config := range map[string]models.Config{
			"vector": {Stream: vectorOf(4), Attention: models.Attention{Heads: 1}, Layers: 1, FeedForward: gelu(5), Vocab: 8, Seq: 3},
			"matrix": {Stream: stream.MatrixConfig{Dk: 3, Dv: 4, Rank: 1}, Layers: 1, FeedForward: gelu(5), Vocab: 8, Seq: 3},
		} {
			config.Attention.Positions, config.Attention.RopeBase = models.PositionsRoPE, base
			c := modeltest.Resolve(t, config)
			const qkv, heads = "blocks.0.attention.qkv", "blocks.0.attention.heads"
			known := func(_ string, x *tensor.Dense) error {
				for i := range 3 {
					token := x.Float64s()[12*i : 12*(i+1)]
					copy(token, []float64{1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0})
					token[8+i] = 1
				}
				return nil
			}
			p := modeltest.Compile(t, c, modeltest.NewStore(t, c, tensor.Float64, 0), modeltest.Setup{Rows: 1, Hooks: graph.Hooks{qkv: known, heads: nil}})
			p.On(t, modeltest.RandomBatch(c, 1, 3, 1), graph.RunOptions{})
			got, err := p.Hooked(heads)
			require.NoError(t, err)
			for i := range 3 {
				require.InDeltaSlice(t, want[i][:], got.Float64s()[4*i:4*i+3], 1e-11, "%s, base %g, token %d", name, base, i)
			}
		}
	}
}
