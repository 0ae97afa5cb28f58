package optim_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/ops/loss"
	"github.com/residua-go/residua/optim"
)

// trainingParts returns the parts of a usual run.
func trainingParts() []optim.Part {
	return []optim.Part{optim.Clip(5), optim.Adam(0.9, 0.95, 1e-8), optim.Rate(0.02, optim.WarmupCosine{Warmup: 3, Total: 10, Min: 0.1}),
		optim.MuP(), optim.Decay(0.1, optim.Coupled, nil)}
}

// muonParts returns the parts of a usual run with Muon for hidden matrices.
func muonParts() []optim.Part {
	return append(trainingParts(), optim.Group(optim.HiddenMatrices, optim.Muon(0.95, optim.ScaleOriginal), optim.Rate(0.05, nil)))
}

// eachParts calls f with lists of parts whose optimizers keep different state.
func eachParts(f func(parts []optim.Part)) {
	f(trainingParts())
	f(muonParts())
}

func newOptimizer(t *testing.T, s *graph.Store, threads int, parts ...optim.Part) *optim.Optimizer {
	t.Helper()
	o, err := optim.New(s, threads, parts...)
	require.NoError(t, err)
	t.Cleanup(o.Close)
	return o
}

func steps(t *testing.T, o *optim.Optimizer, s *graph.Store, first, end int) {
	t.Helper()
	for step := first; step < end; step++ {
		setGradients(t, s, step)
		stats, err := o.Step(1)
		require.NoError(t, err)
		require.True(t, stats.Finite)
	}
}

// TestRestore: an optimizer made from the weights, the state and the number of steps continues with
// the same bits, at any step.
func TestRestore(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		eachParts(func(parts []optim.Part) {
			whole := newStore(t, dt)
			steps(t, newOptimizer(t, whole, 2, parts...), whole, 0, 8)
			for _, stop := range []int{1, 2, 5} {
				first := newStore(t, dt)
				before := newOptimizer(t, first, 2, parts...)
				steps(t, before, first, 0, stop)

				second := newStore(t, dt)
				after := newOptimizer(t, second, 2, parts...)
				for i, p := range second.Params() {
					require.NoError(t, graph.SetFloat64s(p.Value, graph.Float64s(first.Params()[i].Value)))
				}
				for i, s := range after.State() {
					from := before.State()[i]
					require.Equal(t, from.Name, s.Name)
					require.NoError(t, graph.SetFloat64s(s.Value, graph.Float64s(from.Value)))
				}
				after.SetSteps(before.Steps())
				steps(t, after, second, stop, 8)
				assert.Equal(t, values(whole), values(second), "%v, restored after %d steps", dt, stop)
				assert.Equal(t, 8, after.Steps())
			}
		})
	}
}

// TestKeepsMoments: a new optimizer over a Store continues with the moments in the Store.
func TestKeepsMoments(t *testing.T) {
	s := newStore(t, tensor.Float32)
	steps(t, newOptimizer(t, s, 1), s, 0, 2)
	before := values(s)
	newOptimizer(t, s, 1)
	assert.Equal(t, before, values(s))
}

// TestThreads: the number of threads changes no bit.
func TestThreads(t *testing.T) {
	eachParts(func(parts []optim.Part) {
		var want [][]float64
		for _, threads := range []int{1, 2, 3, 8} {
			s := newStore(t, tensor.Float32)
			steps(t, newOptimizer(t, s, threads, parts...), s, 0, 3)
			if want == nil {
				want = values(s)
			}
			assert.Equal(t, want, values(s), "%d threads", threads)
		}
	})
}

// TestNonFiniteGradient: a step with one entry that is not finite changes nothing, is not counted
// and says so; the next step continues as if the bad one had not been.
func TestNonFiniteGradient(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			for at := range specs {
				s, untouched := newStore(t, dt), newStore(t, dt)
				o, other := newOptimizer(t, s, 2, trainingParts()...), newOptimizer(t, untouched, 2, trainingParts()...)
				steps(t, o, s, 0, 2)
				steps(t, other, untouched, 0, 2)
				before := values(s)
				setGradients(t, s, 2)
				g := graph.Float64s(s.Params()[at].Grad)
				g[len(g)-1] = bad
				require.NoError(t, graph.SetFloat64s(s.Params()[at].Grad, g))
				stats, err := o.Step(1)
				require.NoError(t, err)
				assert.False(t, stats.Finite)
				assert.True(t, math.IsNaN(stats.GradNorm) || math.IsInf(stats.GradNorm, 0), "norm %v", stats.GradNorm)
				assert.Equal(t, before, values(s), "%v in %q", bad, specs[at].Name)
				assert.Equal(t, 2, o.Steps())
				steps(t, o, s, 2, 4)
				steps(t, other, untouched, 2, 4)
				assert.Equal(t, values(untouched), values(s), "after %v in %q", bad, specs[at].Name)
			}
		}
	}
}

// TestStepAllocatesNothing: from the second step on, a step allocates no memory.
func TestStepAllocatesNothing(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		eachParts(func(parts []optim.Part) {
			s := newStore(t, dt)
			o := newOptimizer(t, s, 2, parts...)
			steps(t, o, s, 0, 2)
			assert.Zero(t, testing.AllocsPerRun(50, func() {
				if _, err := o.Step(1); err != nil {
					t.Fatal(err)
				}
			}), "%v", dt)
		})
	}
}

// TestTable: parts fill one row for each parameter, in any order.
func TestTable(t *testing.T) {
	s := newStore(t, tensor.Float32)
	parts := []optim.Part{optim.Adam(0.8, 0.9, 1e-5), optim.Rate(0.2, optim.Constant{}), optim.Decay(0.1, optim.Coupled, nil),
		optim.Decay(0.7, optim.Independent, func(p *graph.Param) bool { return p.Name == "gain" }), optim.MuP()}
	checkTable(t, s, newOptimizer(t, s, 1, parts...))
	slices.Reverse(parts)
	checkTable(t, s, newOptimizer(t, s, 1, parts...))
}

func checkTable(t *testing.T, s *graph.Store, o *optim.Optimizer) {
	want := map[string][2]float64{"embedding": {0.2, 0}, "hidden": {0.05, 0.1 * 0.05}, "write": {0.2, 0.1 * 0.2}, "gain": {0.2, 0.7}}
	require.Len(t, o.Table(), len(specs))
	for i, row := range o.Table() {
		assert.Same(t, s.Params()[i], row.Param)
		assert.InDelta(t, want[row.Param.Name][0], row.Rate, 1e-15, row.Param.Name)
		assert.InDelta(t, want[row.Param.Name][1], row.Decay, 1e-15, row.Param.Name)
		assert.Equal(t, "AdamW with betas 0.8, 0.9 and eps 1e-05", row.Rule.String(), row.Param.Name)
	}
}

// TestBadParts: a wrong number is an error that names the part, what it wants and what it got.
func TestBadParts(t *testing.T) {
	nan := math.NaN()
	for want, part := range map[string]optim.Part{
		"optim: clip: want a norm >= 0, got -1":                                  optim.Clip(-1),
		"optim: clip: want a norm >= 0, got NaN":                                 optim.Clip(nan),
		"optim: adam: want betas in [0, 1) and eps > 0, got 1, 0.9, 1e-08":       optim.Adam(1, 0.9, 1e-8),
		"optim: adam: want betas in [0, 1) and eps > 0, got 0.9, 1, 1e-08":       optim.Adam(0.9, 1, 1e-8),
		"optim: adam: want betas in [0, 1) and eps > 0, got -0.1, 0.9, 1e-08":    optim.Adam(-0.1, 0.9, 1e-8),
		"optim: adam: want betas in [0, 1) and eps > 0, got 0.9, 0.9, 0":         optim.Adam(0.9, 0.9, 0),
		"optim: adam: want betas in [0, 1) and eps > 0, got NaN, 0.9, 1e-08":     optim.Adam(nan, 0.9, 1e-8),
		"optim: rate: want > 0, got 0":                                           optim.Rate(0, optim.Constant{}),
		"optim: rate: want > 0, got NaN":                                         optim.Rate(nan, optim.Constant{}),
		"optim: rate: want a schedule, got none: Constant{} keeps the peak rate": optim.Rate(1, nil),
		"optim: decay: want a rate >= 0, got -1":                                 optim.Decay(-1, optim.Coupled, nil),
		"optim: decay: want a rate >= 0, got NaN":                                optim.Decay(nan, optim.Coupled, nil),
		`optim: decay: want "coupled" or "independent", got "l2"`:                optim.Decay(1, "l2", nil),
		"optim: muon: want a momentum in [0, 1), got 1":                          optim.Muon(1, optim.ScaleOriginal),
		"optim: muon: want a momentum in [0, 1), got NaN":                        optim.Muon(nan, optim.ScaleOriginal),
		`optim: muon: want scale original or match_rms_adamw, got "big"`:         optim.Muon(0.9, "big"),
		`optim: muon: parameter "embedding" [7 5]: want weight matrices of a hidden layer, got none: choose parameters by HiddenMatrices`: optim.Muon(0.9, optim.ScaleOriginal),
		"optim: group: want a function that chooses parameters, got nil":                                                                  optim.Group(nil),
		"optim: group: precision: want one for all parameters, got it in a group":                                                         optim.Group(optim.Matrices, optim.Precision(graph.BF16)),
		"optim: group: clip: want it over all parameters, got it in a group":                                                              optim.Group(optim.Matrices, optim.Clip(1)),
		"optim: group: rate: want no schedule in a group: there is one for all parameters":                                                optim.Group(optim.Matrices, optim.Rate(1, optim.Constant{})),
		"optim: group: group: want no group within a group":                                                                               optim.Group(optim.Matrices, optim.Group(optim.Matrices)),
	} {
		o, err := optim.New(newStore(t, tensor.Float32), 1, part)
		assert.EqualError(t, err, want)
		assert.Nil(t, o)
	}
	_, err := optim.New(graph.NewStore(tensor.Float32, 0), 1)
	assert.EqualError(t, err, "optim: want a store with parameters to train, got none: build the model first")
}

// TestMissingGradient: a parameter without a gradient is an error, and nothing changes.
func TestMissingGradient(t *testing.T) {
	s := newStore(t, tensor.Float32)
	o := newOptimizer(t, s, 1)
	setGradients(t, s, 0)
	s.Params()[2].Grad = nil
	before := values(s)
	_, err := o.Step(1)
	assert.EqualError(t, err, `optim: parameter "write": want a gradient, got none: run a program with Gradients first`)
	assert.Equal(t, before, values(s))
	assert.Zero(t, o.Steps())
}

// TestAccumulation: a step on the sum of the gradients of N micro-batches, scaled by 1/N, equals
// the step on the whole batch.
func TestAccumulation(t *testing.T) {
	const batch, parts, width = 6, 3, 4
	x := []float32{1, 0, 2, 1, -1, 3, 0, 1, 2, 2, 1, 0, 0, 1, -2, 1, 1, 1, 1, 1, -1, 0, 2, 3}
	targets := []int32{0, 2, 1, 4, 3, 2}
	train := func(micro int) *graph.Store {
		p := lossProgram(t, batch/micro, width)
		o := newOptimizer(t, p.Store(), 1, trainingParts()...)
		for range 4 {
			for i := range micro {
				copy(p.Input("x").Float32s(), x[i*len(x)/micro:])
				copy(p.Ints("targets"), targets[i*batch/micro:])
				require.NoError(t, p.Run(graph.RunOptions{Accumulate: i > 0}))
			}
			_, err := o.Step(1 / float64(micro))
			require.NoError(t, err)
		}
		return p.Store()
	}
	whole, micro := train(1), train(parts)
	for i, p := range whole.Params() {
		assert.InDeltaSlice(t, graph.Float64s(p.Value), graph.Float64s(micro.Params()[i].Value), 1e-6, p.Name)
		assert.NotEqual(t, graph.Float64s(lossProgram(t, batch, width).Store().Params()[i].Value), graph.Float64s(p.Value), "%q has moved", p.Name)
	}
}

// lossProgram compiles a two-layer classifier with 5 classes.
func lossProgram(t *testing.T, tokens, width int) *graph.Program {
	p, err := graph.Compile(graph.ProgramOptions{Gradients: true, Options: graph.Options{Threads: 1, Seed: 4}}, func(b *graph.Builder) (graph.Roots, error) {
		w1 := b.Param(graph.ParamSpec{Name: "w1", Shape: []int{width, 7}, Init: graph.Normal(0.5), Decay: true, WidthRatio: 2})
		w2 := b.Param(graph.ParamSpec{Name: "w2", Shape: []int{7, 5}, Init: graph.Normal(0.5)})
		h := elementwise.Gelu(b, linear.Map(b, b.Input("x", tensor.Float32, tokens, width), w1, linear.Options{}), false)
		loss := loss.CrossEntropy(b, h, w2, b.Input("targets", tensor.Int32, tokens), loss.Options{})
		return graph.Roots{Loss: loss}, b.Err()
	})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}
