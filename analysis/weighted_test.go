package analysis_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
	"github.com/residua-go/residua/stream/linear"
)

// TestStaticForms: of every stream with a form of weights alone, sites write and read under their
// names in the order of the run as in a run's form, the maps fit together, and what lies after a
// site's read gives its block as many entries as it takes.
func TestStaticForms(t *testing.T) {
	t.Parallel()
	for name, c := range few(t) {
		t.Run(name, func(t *testing.T) {
			run, _ := decompose(t, c, tensor.Float64)
			static, frozen := run.Model().Stream().(stream.Weighted).Static(), frozenOf(t, run)
			require.Equal(t, static != nil, analysis.CheckWeighted(c) == nil)
			if static == nil {
				return
			}
			assert.Equal(t, frozen.Accesses(), static.Accesses())
			assert.Equal(t, 1, static.Tokens())
			for _, a := range static.Accesses() {
				if a.Reads {
					checkAfter(t, run, static, a.Name)
					continue
				}
				up, err := static.Up(a.Name)
				require.NoError(t, err)
				checkWays(t, static, frozen, a.Name, up)
			}
		})
	}
}

func frozenOf(t *testing.T, run *cache.Cache) *stream.Frozen {
	frozen, err := run.Model().Stream().(stream.Additive).Freeze(run)
	require.NoError(t, err)
	return frozen
}

// checkAfter: heads get q, k and v, a feed-forward and the unembedding features.
func checkAfter(t *testing.T, run *cache.Cache, static *stream.Frozen, reader string) {
	after, err := static.After(reader)
	require.NoError(t, err)
	c := run.Model().Spec()
	want := c.Width()
	if reader == stream.Unembedding {
		want = c.Features()
	}
	for l := range c.Layers {
		for _, site := range run.Model().Stream().Sites(l) {
			if name, via := splitVia(reader); name == site.Name() && via >= 0 {
				want = c.HeadDim() * []int{c.HeadCount(), c.KVHeads(), c.KVHeads()}[via]
			} else if name == site.Name() && site.Sublayer == stream.Attention {
				want = 3 * c.HeadCount() * c.HeadDim()
			}
		}
	}
	if len(after) == 0 { // hierarchical aggregation's end is normalised already
		assert.Equal(t, stream.Unembedding, reader)
		return
	}
	_, features := after.Sizes()
	assert.Equal(t, want, features, reader)
}

// checkWays: a source reaches what comes after it, statically and in the run, with as many
// entries, and the run's way is what CarryTo does.
func checkWays(t *testing.T, static, frozen *stream.Frozen, source string, up linear.Map) {
	width, _ := up.Sizes()
	y := make([]float64, width)
	for i := range y {
		y[i] = float64(1 + i%3)
	}
	for _, reader := range frozen.Readers() {
		way, err := static.Between(source, reader)
		require.NoError(t, err)
		there, err := frozen.Between(source, reader)
		require.NoError(t, err)
		want, err := frozen.CarryTo(source, reader, 1, y)
		require.NoError(t, err)
		require.Equal(t, want == nil, way == nil, "%s to %s", source, reader)
		if want == nil {
			continue
		}
		assert.True(t, floats.EqualApprox(want, there.Apply(1, y), 1e-12), "%s to %s", source, reader)
		assert.Len(t, way.Apply(0, y), len(want), "%s to %s", source, reader)
	}
}

// TestBetweenErrors: what a call can get wrong is one line.
func TestBetweenErrors(t *testing.T) {
	c := zoo(t)["vector/one"]
	m, err := cache.Sketch(modeltest.NewStore(t, c, tensor.Float32, 0), c)
	require.NoError(t, err)
	static := m.Stream().(stream.Weighted).Static()
	_, err = static.Between("embedding", stream.Unembedding)
	assert.EqualError(t, err, `stream: nothing is written at "embedding"; want one of embedding.tokens, embedding.positions, blocks.0.attention, blocks.0.feedforward`)
	_, err = static.Between("embedding.tokens", "end")
	assert.EqualError(t, err, `stream: no site "end" reads this stream; want one of blocks.0.attention, blocks.0.feedforward`)
	_, err = static.After("end")
	assert.Error(t, err)
	_, err = static.Up("end")
	assert.Error(t, err)
}
