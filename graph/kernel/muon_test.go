package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// naiveProduct computes X Y for [m, k] and [k, n].
func naiveProduct(x, y []float64, m, k, n int) []float64 {
	z := make([]float64, m*n)
	for i := range m {
		for l := range k {
			for j := range n {
				z[i*n+j] += x[i*k+l] * y[l*n+j]
			}
		}
	}
	return z
}

func transposed(x []float64, rows, columns int) []float64 {
	y := make([]float64, len(x))
	for i := range rows {
		for j := range columns {
			y[j*rows+i] = x[i*columns+j]
		}
	}
	return y
}

// naiveSchulz computes the iteration as published, with the smaller side as rows.
func naiveSchulz(x []float64, rows, columns int) []float64 {
	if rows > columns {
		return transposed(naiveSchulz(transposed(x, rows, columns), columns, rows), columns, rows)
	}
	norm := 0.0
	for _, v := range x {
		norm += v * v
	}
	norm = math.Sqrt(norm) + 1e-7
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = v / norm
	}
	for range 5 {
		a := naiveProduct(y, transposed(y, rows, columns), rows, columns, rows)
		b := naiveProduct(a, a, rows, rows, rows)
		for i := range b {
			b[i] = -4.7750*a[i] + 2.0315*b[i]
		}
		next := naiveProduct(b, y, rows, rows, columns)
		for i := range y {
			y[i] = 3.4445*y[i] + next[i]
		}
	}
	return y
}

// muonCase is a matrix within a parameter that has more columns.
type muonCase struct{ rows, columns, stride int }

func muonCases() []muonCase {
	return []muonCase{{16, 16, 16}, {16, 24, 24}, {24, 16, 16}, {5, 40, 40}, {40, 5, 15}, {7, 9, 30}, {2, 2, 2}, {130, 130, 130}, {100, 210, 211}, {210, 100, 100}}
}

// lowRank returns a gradient like those in training: a few strong directions in noise.
func lowRank(r *rand.Rand, rows, columns int) []float64 {
	g := make([]float64, rows*columns)
	for i := range g {
		g[i] = 1e-3 * r.NormFloat64()
	}
	for range 3 {
		u, v := make([]float64, rows), make([]float64, columns)
		for i := range u {
			u[i] = r.NormFloat64()
		}
		for j := range v {
			v[j] = r.NormFloat64()
		}
		for i := range u {
			for j := range v {
				g[i*columns+j] += u[i] * v[j]
			}
		}
	}
	return g
}

func testMuon[T Float](t *testing.T, p path, tolerance float64) {
	for _, c := range muonCases() {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 4))
			n := (c.rows-1)*c.stride + c.columns
			w, g, m := make([]T, n), make([]T, n), make([]T, n)
			wantW, wantM := make([]float64, n), make([]float64, n)
			for i := range w {
				w[i], m[i] = T(r.NormFloat64()), T(r.NormFloat64())
				wantW[i], wantM[i] = float64(w[i]), float64(m[i])
			}
			k, pool := Muon[T]{path: p}, NewPool(2)
			defer pool.Close()
			d := MuonParams{Factor: 0.5, Momentum: 0.95, GradScale: 0.25}
			for range 2 {
				for i := range g {
					g[i] = T(r.NormFloat64())
				}
				direction := make([]float64, c.rows*c.columns)
				for i := range c.rows {
					for j := range c.columns {
						at := i*c.stride + j
						s := 0.25 * float64(g[at])
						wantM[at] = 0.95*wantM[at] + 0.05*s
						direction[i*c.columns+j] = 0.95*wantM[at] + 0.05*s
					}
				}
				for i, v := range naiveSchulz(direction, c.rows, c.columns) {
					at := i/c.columns*c.stride + i%c.columns
					wantW[at] -= 0.5*1.25*v + 0.01*wantW[at]
				}
				k.Run(pool, []MuonMatrix[T]{{Weight: w, Gradient: g, Momentum: m, Rows: c.rows, Columns: c.columns, Stride: c.stride, Rate: 1.25, Decay: 0.02}}, d)
				for i := range w {
					require.InDelta(t, wantM[i], float64(m[i]), tolerance, "momentum %d", i)
					require.InDelta(t, wantW[i], float64(w[i]), tolerance, "weight %d", i)
				}
			}
		})
	}
}

// TestMuon compares steps with their equations in float64; entries between a matrix's rows do not
// change.
func TestMuon(t *testing.T) {
	forEachPath[float32](t, func(t *testing.T, p path) { testMuon[float32](t, p, 1e-5) })
	t.Run("float64", func(t *testing.T) { testMuon[float64](t, 0, 1e-12) })
}

// TestMuonOfLowRank: in float32 the update of a nearly low-rank momentum, whose singular values
// span three orders of magnitude, has an error of at most 1e-4 of its largest entry.
func TestMuonOfLowRank(t *testing.T) {
	for _, c := range [][2]int{{16, 16}, {24, 16}, {32, 128}, {96, 96}, {384, 96}} {
		g := lowRank(rand.New(rand.NewPCG(1, 5)), c[0], c[1])
		narrow, w := make([]float32, len(g)), make([]float32, len(g))
		for i, v := range g {
			narrow[i], g[i] = float32(v), float64(float32(v))
		}
		var k Muon[float32]
		k.Run(nil, []MuonMatrix[float32]{{Weight: w, Gradient: narrow, Momentum: make([]float32, len(g)), Rows: c[0], Columns: c[1], Stride: c[1], Rate: 1}}, MuonParams{Factor: 1, GradScale: 1})
		largest, worst := 0.0, 0.0
		for i, v := range naiveSchulz(g, c[0], c[1]) {
			largest, worst = max(largest, math.Abs(v)), max(worst, math.Abs(v+float64(w[i])))
		}
		assert.Less(t, worst/largest, 1e-4, "%v", c)
	}
}

// TestMuonThreads: the number of threads changes no bit.
func TestMuonThreads(t *testing.T) {
	for _, half := range []bool{false, true} {
		t.Run(fmt.Sprint("bf16 ", half), func(t *testing.T) { testMuonThreads(t, half) })
	}
}

func testMuonThreads(t *testing.T, half bool) {
	shapes := []muonCase{{100, 210, 210}, {64, 64, 64}, {24, 16, 16}, {16, 16, 16}, {5, 40, 40}}
	var want [][]float32
	for _, threads := range []int{1, 2, 3, 8} {
		r := rand.New(rand.NewPCG(1, 2))
		var matrices []MuonMatrix[float32]
		var got [][]float32
		for _, c := range shapes {
			n := c.rows * c.columns
			matrices = append(matrices, MuonMatrix[float32]{Weight: uniformSlice[float32](r, n), Gradient: uniformSlice[float32](r, n), Momentum: make([]float32, n),
				Rows: c.rows, Columns: c.columns, Stride: c.stride, Rate: 1})
			got = append(got, matrices[len(matrices)-1].Weight)
		}
		pool := NewPool(threads)
		k := Muon[float32]{BFloat16: half}
		for range 2 {
			k.Run(pool, matrices, MuonParams{Factor: 0.1, Momentum: 0.9, GradScale: 1})
		}
		if want == nil {
			for _, w := range got {
				want = append(want, slices.Clone(w))
			}
		}
		for i := range got {
			assert.True(t, slices.Equal(want[i], got[i]), "matrix %d, %d threads", i, threads)
		}
		// A worker allocates memory when it first gets a matrix, which may be in any run; once all
		// have, nothing is allocated.
		allocated := 1.0
		for try := 0; try < 10 && allocated > 0; try++ {
			allocated = testing.AllocsPerRun(10, func() { k.Run(pool, matrices, MuonParams{Factor: 0.1, Momentum: 0.9, GradScale: 1}) })
		}
		assert.Zero(t, allocated)
		pool.Close()
	}
}

// TestMuonAtRateZero: the momentum moves, the weight does not.
func TestMuonAtRateZero(t *testing.T) {
	w, m := []float32{1, 2, 3, 4}, make([]float32, 4)
	var k Muon[float32]
	k.Run(nil, []MuonMatrix[float32]{{Weight: w, Gradient: []float32{1, 1, 1, 2}, Momentum: m, Rows: 2, Columns: 2, Stride: 2, Rate: 1}}, MuonParams{Momentum: 0.5, GradScale: 2})
	assert.Equal(t, []float32{1, 2, 3, 4}, w)
	assert.Equal(t, []float32{1, 1, 1, 2}, m)
}

// TestMuonBFloat16: with products of bfloat16 the update of a matrix of noise is within 1% of the
// exact one, that of a nearly low-rank matrix within 6%; the assembly for all processors gives the
// same bits.
func TestMuonBFloat16(t *testing.T) {
	for _, c := range [][2]int{{64, 64}, {67, 71}, {96, 96}, {384, 96}, {64, 256}, {130, 260}} {
		r := rand.New(rand.NewPCG(1, 5))
		for name, g := range map[string][]float64{"noise": uniformSlice[float64](r, c[0]*c[1]), "low rank": lowRank(r, c[0], c[1])} {
			narrow := make([]float32, len(g))
			for i, v := range g {
				narrow[i], g[i] = float32(v), float64(float32(v))
			}
			want := naiveSchulz(g, c[0], c[1])
			var first []float32
			forEachPairPath(t, func(t *testing.T, p path) {
				k, w := Muon[float32]{path: p, BFloat16: true}, make([]float32, len(g))
				k.Run(nil, []MuonMatrix[float32]{{Weight: w, Gradient: narrow, Momentum: make([]float32, len(g)), Rows: c[0], Columns: c[1], Stride: c[1], Rate: 1}}, MuonParams{Factor: 1, GradScale: 1})
				off, size := 0.0, 0.0
				for i, v := range want {
					off += (v + float64(w[i])) * (v + float64(w[i]))
					size += v * v
				}
				t.Logf("%s %v: error %.4f", name, c, math.Sqrt(off/size))
				assert.Less(t, math.Sqrt(off/size), map[string]float64{"noise": 0.01, "low rank": 0.06}[name], "%s %v", name, c)
				if p > portable {
					if first == nil {
						first = w
					}
					requireSameFloats(t, first, w, c)
				}
			})
		}
	}
}

// BenchmarkMuon measures a step on the hidden matrices of a transformer block of width 384.
func BenchmarkMuon(b *testing.B) {
	for _, threads := range []int{1, 2} {
		for _, half := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d threads, bf16 %t", threads, half), func(b *testing.B) {
				r := rand.New(rand.NewPCG(1, 2))
				var matrices []MuonMatrix[float32]
				flops := 0.0
				for _, c := range []muonCase{{384, 1536, 1536}, {1536, 384, 384}, {384, 384, 1152}, {384, 384, 1152}, {384, 384, 1152}, {384, 384, 384}} {
					n := c.rows * c.stride
					matrices = append(matrices, MuonMatrix[float32]{Weight: uniformSlice[float32](r, n), Gradient: uniformSlice[float32](r, n), Momentum: make([]float32, n),
						Rows: c.rows, Columns: c.columns, Stride: c.stride, Rate: 1})
					side, long := float64(min(c.rows, c.columns)), float64(max(c.rows, c.columns))
					flops += 5 * (4*side*side*long + 2*side*side*side)
				}
				pool := NewPool(threads)
				defer pool.Close()
				k := Muon[float32]{BFloat16: half}
				for b.Loop() {
					k.Run(pool, matrices, MuonParams{Factor: 1e-9, Momentum: 0.9, GradScale: 1})
				}
				b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "published-GFLOPS")
			})
		}
	}
}
