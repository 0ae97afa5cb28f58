package kernel

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// vectorLengths are lengths with and without whole vectors, groups of vectors and rests.
var vectorLengths = []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 13, 15, 16, 17, 23, 31, 32, 33, 47, 61, 63, 64, 65, 97, 127, 128, 129, 257}

// vectorCase is one function that has a fast form. run calls it on slices of one length, writes
// some of them and returns its results, if any.
type vectorCase struct {
	name   string
	slices int
	run    func(p path, s [][]float32) []float64
}

// result collects a function's results in a list.
func result(sums ...float64) []float64 { return sums }

var vectorCases = []vectorCase{
	{"geluTanh", 2, func(p path, s [][]float32) []float64 { geluTanh(p, s[0], s[1]); return nil }},
	{"geluTanhGradient", 3, func(p path, s [][]float32) []float64 { geluTanhGradient(p, s[0], s[1], s[2]); return nil }},
	{"geluExact", 2, func(p path, s [][]float32) []float64 { geluExact(p, s[0], s[1]); return nil }},
	{"geluExactGradient", 3, func(p path, s [][]float32) []float64 { geluExactGradient(p, s[0], s[1], s[2]); return nil }},
	{"gated", 3, func(p path, s [][]float32) []float64 { gatedAlone(p, s[0], s[1], s[2]); return nil }},
	{"gated with addend", 4, func(p path, s [][]float32) []float64 { gated(p, s[0], s[2], s[3], s[1]); return nil }},
	{"softCap", 3, func(p path, s [][]float32) []float64 { softCapSlope(p, s[0], s[1], s[2], 1.3); return nil }},
	{"reluSquared", 2, func(p path, s [][]float32) []float64 { reluSquared(p, s[0], s[1]); return nil }},
	{"reluSquaredGradient", 3, func(p path, s [][]float32) []float64 { reluSquaredGradient(p, s[0], s[1], s[2]); return nil }},
	{"relu", 2, func(p path, s [][]float32) []float64 { relu(p, s[0], s[1]); return nil }},
	{"reluGradient", 3, func(p path, s [][]float32) []float64 { reluGradient(p, s[0], s[1], s[2]); return nil }},
	{"gatedGradient", 5, func(p path, s [][]float32) []float64 {
		gatedGradientAlone(p, s[1], s[0], s[2], s[3], s[4])
		return nil
	}},
	{"gatedGradient with addend", 6, func(p path, s [][]float32) []float64 {
		gatedGradient(p, s[1], s[0], s[2], s[3], s[4], s[5])
		return nil
	}},
	{"gatedQuick", 3, func(p path, s [][]float32) []float64 { gatedQuickAlone(p, s[0], s[1], s[2]); return nil }},
	{"gatedQuick with addend", 4, func(p path, s [][]float32) []float64 { gatedQuick(p, s[0], s[2], s[3], s[1]); return nil }},
	{"gatedQuickGradient", 5, func(p path, s [][]float32) []float64 {
		gatedQuickGradient(p, s[0], s[1], s[2], s[3], s[4])
		return nil
	}},
	{"sumAbout", 1, func(p path, s [][]float32) []float64 { return result(sumAbout(p, s[0], 0.125)) }},
	{"squaresAbout", 1, func(p path, s [][]float32) []float64 { return result(squaresAbout(p, s[0], 0.25, 1e-9)) }},
	{"gradientSums", 3, func(p path, s [][]float32) []float64 { return result(gradientSums(p, s[0], s[1], s[2])) }},
	{"gradientSumsGain", 4, func(p path, s [][]float32) []float64 { return result(gradientSumsGain(p, s[0], s[1], s[2], s[3])) }},
	{"normalizeScale", 4, func(p path, s [][]float32) []float64 {
		testStatistics.normalizeScale(p, s[0], s[1], s[2], s[3])
		return nil
	}},
	{"normalize", 2, func(p path, s [][]float32) []float64 { testStatistics.normalize(p, s[0], s[1]); return nil }},
	{"scale", 3, func(p path, s [][]float32) []float64 { testStatistics.scale(p, s[0], s[1], s[2]); return nil }},
	{"scaleShift", 4, func(p path, s [][]float32) []float64 {
		testStatistics.scaleShift(p, s[0], s[1], s[2], s[3])
		return nil
	}},
	{"normGradient", 4, func(p path, s [][]float32) []float64 {
		sumH, sumHN := gradientSums(p, s[1], s[2], s[3])
		normGradient(p, s[0], nil, s[1], s[2], s[3], sumH, sumHN, 0.5, false)
		return nil
	}},
	{"normGradient with addend", 5, func(p path, s [][]float32) []float64 {
		sumH, sumHN := gradientSums(p, s[2], s[3], s[4])
		normGradient(p, s[0], s[1], s[2], s[3], s[4], sumH, sumHN, 0.5, true)
		return nil
	}},
	{"addProducts", 3, func(p path, s [][]float32) []float64 { addProducts(p, s[0], s[1], s[2]); return nil }},
	{"addTo", 2, func(p path, s [][]float32) []float64 { addTo(p, s[0], s[1]); return nil }},
	{"setSum", 3, func(p path, s [][]float32) []float64 { setSum(p, s[0], s[1], s[2]); return nil }},
	{"addTwo", 3, func(p path, s [][]float32) []float64 { addTwo(p, s[0], s[1], s[2]); return nil }},
	{"scaleTo", 2, func(p path, s [][]float32) []float64 { scaleTo(p, s[0], s[1], 0.7); return nil }},
	{"addMultiple", 2, func(p path, s [][]float32) []float64 { addMultiple(p, s[0], s[1], 0.7); return nil }},
	{"addTwoMultiples", 3, func(p path, s [][]float32) []float64 { addTwoMultiples(p, s[0], s[1], s[2], 0.7, -1.3); return nil }},
	{"dotProduct", 2, func(p path, s [][]float32) []float64 { return result(dotProduct(p, s[0], s[1])) }},
	{"dotProducts", 3, func(p path, s [][]float32) []float64 { return result(dotProducts(p, s[0], s[1], s[2])) }},
	{"softmaxMax", 1, func(p path, s [][]float32) []float64 { return result(max(-1e30, float64(softmaxMax(p, s[0])))) }},
	{"softmaxExp", 1, func(p path, s [][]float32) []float64 { return result(softmaxExp(p, s[0], 0.5)) }},
	{"attentionExp", 1, func(p path, s [][]float32) []float64 { return result(attentionExp(p, s[0], 0.5)) }},
	{"distancesMax", 1, func(p path, s [][]float32) []float64 {
		return result(max(-1e30, float64(distancesMax(p, s[0], 0.125, len(s[0])+3))))
	}},
	{"softmaxGradient", 2, func(p path, s [][]float32) []float64 {
		softmaxGradient(p, s[0], s[1], 0.125, len(s[0])+3, 0.5, 0.25)
		return nil
	}},
	{"rowDot", 2, func(p path, s [][]float32) []float64 { return result(float64(rowDot(p, s[0], s[1]))) }},
	{"adamW", 4, func(p path, s [][]float32) []float64 {
		for i, v := range s[3] { // the second moment
			s[3][i] = v * v
		}
		k := AdamW[float32]{path: p}
		k.Add(s[0], s[1], s[2], s[3], AdamWParams{LR: 0.1, Beta1: 0.9, Beta2: 0.95, Eps: 1e-8, Decay: 0.01, Step: 3, GradScale: 0.5})
		k.Run(nil)
		return nil
	}},
	{"blockedSum", 1, func(p path, s [][]float32) []float64 {
		around := make([]float64, len(s[0])+10)
		for i := range around {
			around[i] = float64(i)
		}
		b := blockedSum[float32]{block: s[0], total: around[1 : 1+len(s[0])], path: p}
		b.flush()
		return around
	}},
}

var testStatistics = statistics[float32]{mean: 0.3, rest: 1e-9, rstd: 1.7}

// operands returns n elements for each slice of a case.
func (c *vectorCase) operands(n int) [][]float32 {
	s := make([][]float32, c.slices)
	for i := range s {
		s[i] = normals[float32](uint64(100*n+i), n, 2)
	}
	return s
}

// requireNear compares the slices and results of two runs.
func (c *vectorCase) requireNear(t *testing.T, n int, wantSlices, gotSlices [][]float32, want, got []float64) {
	t.Helper()
	for i := range wantSlices {
		requireNear(t, widen(wantSlices[i]), gotSlices[i], 2e-6, c.name)
	}
	requireNear(t, want, got, 1e-6*math.Sqrt(float64(n+1)), c.name)
}

// formulaCases are the formulas of ops.
func formulaCases() (list []vectorCase) {
	for _, f := range Formulas() {
		list = append(list, vectorCase{f.Name, len(f.Results) + len(f.Inputs), func(p path, s [][]float32) []float64 {
			x := Elements[float32]{path: p, Numbers: [2]float64{1.3}}
			copy(x.Out[:], s[:len(f.Results)])
			copy(x.In[:], s[len(f.Results):])
			f.Single(x)
			return nil
		}})
	}
	return list
}

// TestVectors compares every fast function with its portable form, at every length and several
// alignments, and checks the elements around the slices.
func TestVectors(t *testing.T) {
	forEachFastPath(t, func(t *testing.T, p path) {
		for _, c := range slices.Concat(vectorCases, formulaCases()) {
			for _, n := range vectorLengths {
				want := c.operands(n)
				wantSums := c.run(portable, want)
				var first [][]float32
				for _, offset := range []int{1, 3, 16} {
					inside, around := surrounded(c.operands(n), offset)
					gotSums := c.run(p, inside)
					c.requireNear(t, n, want, inside, wantSums, gotSums)
					for i, a := range around {
						requireCanaries(t, a[:offset])
						requireCanaries(t, a[offset+n:])
						if first != nil {
							require.Equal(t, first[i], inside[i], "%s: the bits depend on the alignment", c.name)
						}
					}
					first = inside
				}
			}
		}
	})
}

const canary = -12345

// surrounded copies each slice to offset elements within a larger one full of canaries.
func surrounded(s [][]float32, offset int) (inside, around [][]float32) {
	for _, x := range s {
		a := make([]float32, offset+len(x)+33)
		for i := range a {
			a[i] = canary
		}
		copy(a[offset:], x)
		inside, around = append(inside, a[offset:offset+len(x):offset+len(x)]), append(around, a)
	}
	return inside, around
}

func requireCanaries(t *testing.T, s []float32) {
	t.Helper()
	for i, v := range s {
		require.Equal(t, float32(canary), v, "element %d outside the slice", i)
	}
}

// TestVectorsInPlace runs the functions that may overwrite an input.
func TestVectorsInPlace(t *testing.T) {
	aliases := map[string]int{ // the input that slice 0 may be
		"geluTanh": 1, "geluTanhGradient": 1, "geluExact": 1, "geluExactGradient": 1, "normalize": 1, "scale": 1, "scaleShift": 1, "normGradient": 1,
		"normGradient with addend": 1, "scaleTo": 1, "setSum": 1,
		"gated": 1, "gated with addend": 1, "gatedGradient": 3, "softCap": 2, "reluSquared": 1, "reluSquaredGradient": 1, "relu": 1, "reluGradient": 1, "gatedGradient with addend": 5,
	}
	forEachFastPath(t, func(t *testing.T, p path) {
		for _, c := range vectorCases {
			input, ok := aliases[c.name]
			if !ok {
				continue
			}
			for _, n := range vectorLengths {
				apart, same := c.operands(n), c.operands(n)
				same[0] = same[input]
				c.run(p, apart)
				c.run(p, same)
				require.Equal(t, apart[0], same[0], "%s of %d elements", c.name, n)
			}
		}
	})
}

// forEachFastPath runs f on the paths that are not portable.
func forEachFastPath(t *testing.T, f func(t *testing.T, p path)) {
	forEachPath[float32](t, func(t *testing.T, p path) {
		if p > portable {
			f(t, p)
		}
	})
}

// TestVectorMax puts the largest element, and a NaN, at every index.
func TestVectorMax(t *testing.T) {
	inf := float32(math.Inf(1))
	forEachFastPath(t, func(t *testing.T, p path) {
		for _, n := range vectorLengths {
			x := normals[float32](uint64(n), n, 1)
			for i := range x {
				old := x[i]
				for _, v := range []float32{77, inf} {
					x[i] = v
					require.Equal(t, v, softmaxMax(p, x), "element %d of %d", i, n)
					x[n-1-i] = float32(math.NaN())
					if n-1-i != i {
						require.Equal(t, v, softmaxMax(p, x), "NaN in element %d of %d", n-1-i, n)
					}
					require.True(t, math.IsNaN(softmaxExp(p, slices.Clone(x), v)))
					x[n-1-i] = -inf
				}
				x[i] = old
			}
		}
		require.Equal(t, -inf, softmaxMax(p, []float32(nil)))
	})
}

// TestVectorSumsKeepTheirPrecision adds a large mean to small deviations.
func TestVectorSumsKeepTheirPrecision(t *testing.T) {
	forEachFastPath(t, func(t *testing.T, p path) {
		x := normals[float32](1, 50257, 1)
		for i := range x {
			x[i] += 1e4
		}
		require.InDelta(t, rowMean(portable, x), rowMean(p, x), 1e-8) // deviations are about 1
		mean := rowMean(p, x)
		hi := float32(mean)
		lo := float32(mean - float64(hi))
		require.InEpsilon(t, squaresAbout(portable, x, hi, lo), squaresAbout(p, x, hi, lo), 1e-7)
	})
}

// BenchmarkVectors measures every function on slices in the first-level cache.
func BenchmarkVectors(b *testing.B) {
	const n = 1536
	for _, c := range vectorCases {
		for p := portable; p <= machinePath; p++ {
			if !hasPath(p) {
				continue
			}
			b.Run(c.name+"/"+pathNames[p], func(b *testing.B) {
				s := c.operands(n)
				for b.Loop() {
					c.run(p, s)
				}
				reportPerElement(b, n)
			})
		}
	}
}
