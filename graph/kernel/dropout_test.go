package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// dropoutMask returns the result of Dropout for ones, times 1 - rate: 1 where it keeps an element.
func dropoutMask(n int, rate float64, key DropoutKey) []float64 {
	ones := make([]float64, n)
	for i := range ones {
		ones[i] = 1
	}
	var k Dropout[float64]
	k.Run(nil, ones, ones, rate, key)
	for i := range ones {
		ones[i] = math.Round(ones[i] * (1 - rate))
	}
	return ones
}

// The number of elements kept has a binomial distribution: it must lie within five standard
// deviations.
func TestDropoutKeepRate(t *testing.T) {
	const n = 200_000
	for _, rate := range []float64{0.01, 0.1, 0.5, 0.9} {
		for site := range uint32(4) {
			var kept float64
			for _, m := range dropoutMask(n, rate, DropoutKey{Seed: 42, Site: site, Step: 7}) {
				kept += m
			}
			deviation := math.Sqrt(n * rate * (1 - rate))
			require.InDelta(t, n*(1-rate), kept, 5*deviation, "rate %v, site %d", rate, site)
		}
	}
}

// Masks whose keys differ in one part, and one mask shifted against itself, agree as often as
// independent masks: at rate 1/2, in half of the elements.
func TestDropoutMasksAreIndependent(t *testing.T) {
	const n = 100_000
	base := DropoutKey{Seed: 1, Site: 2, Step: 3}
	mask := dropoutMask(n, 0.5, base)
	others := map[string][]float64{
		"seed": dropoutMask(n, 0.5, DropoutKey{Seed: 2, Site: 2, Step: 3}),
		"site": dropoutMask(n, 0.5, DropoutKey{Seed: 1, Site: 3, Step: 3}),
		"step": dropoutMask(n, 0.5, DropoutKey{Seed: 1, Site: 2, Step: 4}),
		"swap": dropoutMask(n, 0.5, DropoutKey{Seed: 1, Site: 3, Step: 2}),
	}
	for _, lag := range []int{1, 2, 64, 768} {
		others[fmt.Sprint("lag ", lag)] = slices.Concat(mask[lag:], mask[:lag])
	}
	for name, other := range others {
		same := 0.0
		for i, m := range mask {
			if m == other[i] {
				same++
			}
		}
		require.InDelta(t, n/2, same, 5*math.Sqrt(n)/2, name)
	}
}

func TestDropoutValues(t *testing.T) {
	testDropoutValues[float32](t)
	testDropoutValues[float64](t)
}

func testDropoutValues[T Float](t *testing.T) {
	const n, rate = 1009, 0.3
	key := DropoutKey{Seed: 5, Site: 6, Step: 7}
	x := normals[T](1, n, 1)
	x[3], x[4] = T(math.Inf(1)), T(math.NaN())
	mask := dropoutMask(n, rate, key)
	for threads := 1; threads <= 3; threads++ {
		p := NewPool(threads)
		var k Dropout[T]
		out, inPlace := make([]T, n), slices.Clone(x)
		k.Run(p, out, x, rate, key)
		k.Run(p, inPlace, inPlace, rate, key)
		for i, v := range x {
			want := v * T(1/(1-rate))
			if mask[i] == 0 {
				want = 0
			}
			require.Equal(t, math.Float64bits(float64(want)), math.Float64bits(float64(out[i])), "element %d", i)
			require.Equal(t, math.Float64bits(float64(want)), math.Float64bits(float64(inPlace[i])), "element %d", i)
		}
		p.Close()
	}
}

func TestDropoutRateLimits(t *testing.T) {
	x, out := normals[float32](1, 1000, 1), make([]float32, 1000)
	var k Dropout[float32]
	k.Run(nil, out, x, 0, DropoutKey{})
	require.Equal(t, x, out)
	k.Run(nil, out, x, 1, DropoutKey{})
	require.Equal(t, make([]float32, 1000), out)
}

// The published first outputs of SplitMix64 seeded with 0 and with 1234567.
func TestDropoutHashIsSplitMix64(t *testing.T) {
	require.Equal(t, uint64(0xe220a8397b1dcdaf), mix(weyl))
	require.Equal(t, uint64(6457827717110365317), mix(1234567+weyl))
	require.Equal(t, uint64(3203168211198807973), mix(1234567+2*weyl&math.MaxUint64))
	require.Equal(t, uint64(3203168211198807973)>>32, dropoutHash(1234567, 1))
}

func TestDropoutWarmAllocatesNothing(t *testing.T) {
	x := normals[float32](1, 100, 1)
	p := NewPool(2)
	var k Dropout[float32]
	requireNoAllocations(t, func() { k.Run(p, x, x, 0.1, DropoutKey{Seed: 1}) })
}

func BenchmarkDropout(b *testing.B) {
	x, out := normals[float32](1, 4096, 1), make([]float32, 4096)
	var k Dropout[float32]
	for b.Loop() {
		k.Run(nil, out, x, 0.1, DropoutKey{Seed: 1})
	}
	reportPerElement(b, len(x))
}
