package stream_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/stream"
)

// TestConvWritesHeads: keys, values or both are convolved, each by its own filter, and queries stay
// as they are.
func TestConvWritesHeads(t *testing.T) {
	const tokens, queries, kv, taps = 6, 3, 2, 3
	const width = queries + 2*kv
	qkv := noise(1, tokens*width)
	for _, at := range [][]string{{"keys"}, {"values"}, {"keys", "values"}} {
		got, store := evaluate(t, func(b *graph.Builder) *gorgonia.Node {
			c := stream.ConvWrites{Taps: taps, At: at}
			w := c.New(b, stream.Site{Sublayer: stream.Attention}, stream.WriteSizes{Width: width, Queries: queries, KV: kv})
			return w.Heads(b.Input("qkv", tensor.Float64, tokens, width), stream.TokenRows{Seq: tokens})
		}, map[string][]float64{"qkv": qkv}, nil)
		want := slices.Clone(qkv)
		for i, part := range []string{"keys", "values"} {
			if !slices.Contains(at, part) {
				continue
			}
			filter := value(t, store, "blocks.0.attention."+part[:1]+"_conv") // [taps, kv]
			for token := range tokens {
				for lag := range min(taps, token+1) {
					for e := range kv {
						column := queries + i*kv + e
						want[token*width+column] += filter[(taps-1-lag)*kv+e] * qkv[(token-lag)*width+column]
					}
				}
			}
		}
		require.InDeltaSlice(t, want, got, tolerance, "%v", at)
	}
}
