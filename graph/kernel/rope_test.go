package kernel

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Head size 4 and base 100 turn the pairs (0, 2) and (1, 3) by pos and pos/10.
func TestRopeAgainstComputedTable(t *testing.T) {
	const cos2, sin2 = -0.4161468365471424, 0.9092974268256817   // angle 2
	const cos02, sin02 = 0.9800665778412416, 0.19866933079506122 // angle 0.2
	const cos5, sin5 = 0.2836621854632263, -0.9589242746631385   // angle 5
	const cos05, sin05 = 0.8775825618903728, 0.479425538604203   // angle 0.5
	var table RopeTable[float64]
	table.extend(100, RopeStretch{}, 4, 6)
	for _, x := range []struct {
		pos      int
		in, want []float64
	}{
		{0, []float64{1, 2, 3, 4}, []float64{1, 2, 3, 4}},
		{2, []float64{1, 0, 0, 0}, []float64{cos2, 0, sin2, 0}},
		{2, []float64{0, 1, 0, 0}, []float64{0, cos02, 0, sin02}},
		{2, []float64{0, 0, 1, 0}, []float64{-sin2, 0, cos2, 0}},
		{5, []float64{1, 2, 3, 4}, []float64{cos5 - 3*sin5, 2*cos05 - 4*sin05, 3*cos5 + sin5, 4*cos05 + 2*sin05}},
	} {
		got := make([]float64, 4)
		table.rotate(got, x.in, x.pos)
		require.InDeltaSlice(t, x.want, got, 1e-15)
		table.rotateBack(got, x.pos)
		require.InDeltaSlice(t, x.in, got, 1e-15)
	}
}

// The table is made again when the base, the head dimension or a larger number of positions
// requires it, and only then.
func TestRopeTableFollowsItsArguments(t *testing.T) {
	var table RopeTable[float32]
	table.extend(100, RopeStretch{}, 4, 8)
	table.extend(100, RopeStretch{}, 4, 3)
	require.Equal(t, 8, table.positions)
	for _, x := range []struct {
		base               float64
		stretch            RopeStretch
		headDim, positions int
	}{{500, RopeStretch{}, 4, 8}, {500, RopeStretch{}, 6, 5}, {500, RopeStretch{}, 6, 9}, {500, RopeStretch{Amplitude: 2}, 6, 9},
		{500, RopeStretch{Rates: []float64{1, 1, 0.5}, Amplitude: 2}, 6, 9}} {
		var fresh RopeTable[float32]
		table.extend(x.base, x.stretch, x.headDim, x.positions)
		fresh.extend(x.base, x.stretch, x.headDim, x.positions)
		require.Equal(t, fresh, table)
	}
}

func TestRopeLeavesAnOddLastElement(t *testing.T) {
	var table RopeTable[float64]
	table.extend(100, RopeStretch{}, 3, 2)
	got := make([]float64, 3)
	table.rotate(got, []float64{1, 2, 3}, 1)
	require.Equal(t, 3.0, got[2])
}

// TestRopeTableReachesAsFarAsTheText: a cache's capacity does not lengthen the table, which grows
// position by position to what it would be at once, and kernels may share it.
func TestRopeTableReachesAsFarAsTheText(t *testing.T) {
	const window = 1 << 17
	d := AttentionParams{Batch: 1, Seq: 1, Heads: 1, KVHeads: 1, HeadDim: 4, Scale: 0.5, RopeBase: 1e4}
	var table RopeTable[float32]
	layers := [2]Attention[float32]{{Rope: &table}, {Rope: &table}}
	caches := [2]*KVCache[float32]{NewKVCache[float32](1, 1, window, 4), NewKVCache[float32](1, 1, window, 4)}
	for past := range 5 {
		for i := range layers {
			out := make([]float32, 4)
			layers[i].ForwardCached(nil, out, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, caches[i], cachedRows(1, past, 1), nil, d)
			require.Equal(t, past+1, table.positions)
		}
	}
	var fresh RopeTable[float32]
	fresh.extend(1e4, RopeStretch{}, 4, 5)
	require.Equal(t, fresh.cos, table.cos)
	require.Equal(t, fresh.sin, table.sin)
}
