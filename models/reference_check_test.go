package models_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/loss"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/optim"
)

// batch is the input of the forward comparison.
type batch struct {
	inputs, targets []int32
	rows, seq       int
	logits          []float64
}

func (r *reference) batch(t *testing.T) batch {
	file := readTensors(t, r.dir, "batch.safetensors")
	logits := floats(t, file, "logits")
	if r.official() {
		ids := file.tensor(t, "input_ids")
		return batch{int32s(t, file, "input_ids"), int32s(t, file, "target_ids"), ids.Shape[0], ids.Shape[1], logits}
	}
	tokens := file.tensor(t, "tokens")
	require.True(t, r.rows == 0 || r.rows == tokens.Shape[0], "%s: batch %d in the config, %d rows of tokens", r.dir, r.rows, tokens.Shape[0])
	inputs, targets := shift(int32s(t, file, "tokens"), tokens.Shape[0], tokens.Shape[1])
	return batch{inputs, targets, tokens.Shape[0], tokens.Shape[1] - 1, logits}
}

// shift splits rows of n tokens into inputs and targets of n-1.
func shift(tokens []int32, rows, n int) (inputs, targets []int32) {
	for r := range rows {
		row := tokens[r*n : (r+1)*n]
		inputs, targets = append(inputs, row[:n-1]...), append(targets, row[1:]...)
	}
	return inputs, targets
}

// checkForward compares logits, loss and the gradient of every parameter; it returns the
// worst error of a gradient.
func (r *reference) checkForward(t *testing.T, dt tensor.Dtype, tolerance float64) float64 {
	in := r.batch(t)
	store := r.store(t, dt)
	var logits *gorgonia.Node
	p := r.program(t, store, in.rows, in.seq, nil, func(m *models.Model, features, targets *gorgonia.Node) graph.Roots {
		logits = m.Logits(features)
		return graph.Roots{Loss: m.Loss(features, targets, r.auxiliary), Outputs: gorgonia.Nodes{logits}}
	})
	run(t, p, in.inputs, in.targets)
	values, err := graph.Value(logits)
	require.NoError(t, err)
	worst := relativeError(graph.Float64s(values), in.logits, 0)
	require.LessOrEqual(t, worst, tolerance, "logits")
	value, err := graph.Scalar(p.Roots().Loss)
	require.NoError(t, err)
	want := r.expected.Loss + r.expected.LossWithZ // a folder has one of the two
	lossError := math.Abs(value-want) / math.Abs(want)
	require.LessOrEqual(t, lossError, tolerance, "loss")
	crossEntropy, _, err := loss.Parts(p.Roots().Loss)
	require.NoError(t, err)
	require.InEpsilon(t, r.expected.CrossEntropy, crossEntropy, tolerance, "cross-entropy")

	require.NoError(t, store.GradientsToHost())
	gradients := readTensors(t, r.dir, "gradients.safetensors")
	worstGradient, name := r.differ(t, gradients, r.weights, r.largest(t, gradients)*gradientFloor, gradientsIn(store))
	require.LessOrEqual(t, worstGradient, tolerance, name)
	t.Logf("worst errors: logits %.1e, loss %.1e, gradients %.1e", worst, lossError, worstGradient)
	return worstGradient
}

// checkIntermediates compares named activations.
func (r *reference) checkIntermediates(t *testing.T) {
	in := r.batch(t)
	hooks := graph.Hooks{}
	for _, l := range r.watched {
		for _, name := range l.names() {
			hooks[name] = nil
		}
	}
	p := r.program(t, r.store(t, tensor.Float32), in.rows, in.seq, hooks, func(m *models.Model, features, targets *gorgonia.Node) graph.Roots {
		return graph.Roots{Loss: m.Loss(features, targets, r.auxiliary)}
	})
	run(t, p, in.inputs, in.targets)
	worst := r.compare(t, readTensors(t, r.dir, "intermediates.safetensors"), r.watched, tolerance32, 0, func(name string) []float64 {
		value, err := p.Hooked(name)
		require.NoError(t, err)
		return graph.Float64s(value)
	})
	t.Logf("worst error: intermediates %.1e", worst)
}

// checkTraining repeats the reference's training steps.
func (r *reference) checkTraining(t *testing.T) {
	tr := r.expected.Training
	store := r.store(t, tensor.Float32)
	tokens := readTensors(t, r.dir, "training_tokens.safetensors").tensor(t, "tokens")
	ids, err := tokens.Ints()
	require.NoError(t, err)
	rows, n := tokens.Shape[1], tokens.Shape[2]
	p := r.program(t, store, rows, n-1, nil, func(m *models.Model, features, targets *gorgonia.Node) graph.Roots {
		return graph.Roots{Loss: m.Loss(features, targets, r.auxiliary)}
	})
	o, err := optim.New(store, 2, optim.Clip(tr.Clip), optim.Adam(tr.B1, tr.B2, tr.Eps),
		optim.Rate(tr.PeakLR, optim.WarmupCosine{Warmup: tr.Warmup, Total: tr.Total, Min: 0.1}), optim.MuP(),
		optim.Decay(tr.WeightDecay, optim.Independent, nil))
	require.NoError(t, err)
	defer o.Close()
	worstLoss, worstNorm := 0.0, 0.0
	for step, want := range tr.Steps {
		row := make([]int32, rows*n)
		for i := range row {
			row[i] = int32(ids[step*rows*n+i])
		}
		inputs, targets := shift(row, rows, n)
		run(t, p, inputs, targets)
		crossEntropy, z, err := loss.Parts(p.Roots().Loss)
		require.NoError(t, err)
		stats, err := o.Step(1)
		require.NoError(t, err)
		require.InDelta(t, want.Schedule, stats.Factor, toleranceSchedule, "schedule of step %d", step)
		require.InEpsilon(t, want.CrossEntropy, crossEntropy, toleranceSteps, "cross-entropy of step %d", step)
		require.InEpsilon(t, want.LossWithZ, crossEntropy+z, toleranceSteps, "loss of step %d", step)
		require.InEpsilon(t, want.GradNorm, stats.GradNorm, toleranceSteps, "gradient norm of step %d", step)
		worstLoss = max(worstLoss, math.Abs(crossEntropy-want.CrossEntropy)/want.CrossEntropy)
		worstNorm = max(worstNorm, math.Abs(stats.GradNorm-want.GradNorm)/want.GradNorm)
	}
	require.NoError(t, store.ToHost())
	after := readTensors(t, r.dir, "weights_after_training.safetensors")
	worst := r.compare(t, after, r.weights, toleranceWeights, 0, func(name string) []float64 { return graph.Float64s(store.Param(name).Value) })
	t.Logf("worst errors over %d steps: loss %.1e, gradient norm %.1e, weights after %.1e", len(tr.Steps), worstLoss, worstNorm, worst)
}

// store returns a Store that holds the reference's weights.
func (r *reference) store(t *testing.T, dt tensor.Dtype) *graph.Store {
	store := graph.NewStore(dt, 0)
	_, err := models.New(gorgonia.NewGraph(), modeltest.Resolve(t, r.config), graph.Options{DType: dt, Store: store})
	require.NoError(t, err)
	theirs := readTensors(t, r.dir, "weights.safetensors")
	loadWeights(t, store, theirs, r.weights)
	return store
}

// loadWeights fills every parameter of a store from their tensors.
func loadWeights(t *testing.T, store *graph.Store, theirs tensorFile, links []link) {
	filled := map[string][]float64{}
	for _, l := range links {
		l.each(t, theirs.tensor(t, l.theirs).Shape, func(name string, their, our int) {
			if filled[name] == nil {
				require.NotNil(t, store.Param(name), "parameter %q", name)
				filled[name] = nans(store.Param(name).Size())
			}
			filled[name][our] = theirs.values[l.theirs][their]
		})
	}
	for _, p := range store.Params() {
		for _, v := range filled[p.Name] {
			require.False(t, math.IsNaN(v), "parameter %q is not filled by the reference", p.Name)
		}
		require.NotNil(t, filled[p.Name], "parameter %q has nothing in the reference", p.Name)
		require.NoError(t, graph.SetFloat64s(p.Value, filled[p.Name]))
	}
}

func nans(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = math.NaN()
	}
	return v
}

// program compiles a training program for rows of seq tokens.
func (r *reference) program(t *testing.T, store *graph.Store, rows, seq int, hooks graph.Hooks, roots func(m *models.Model, features, targets *gorgonia.Node) graph.Roots) *graph.Program {
	c := modeltest.Resolve(t, r.config)
	p, err := graph.Compile(graph.ProgramOptions{Gradients: true, Options: graph.Options{Store: store, DType: store.DType(), Threads: 2, Hooks: hooks,
		Device: r.device.Device, Precision: r.device.Precision}},
		func(b *graph.Builder) (graph.Roots, error) {
			m, err := models.On(b, c)
			if err != nil {
				return graph.Roots{}, err
			}
			features := m.Forward(b.Input("tokens", tensor.Int32, rows, seq))
			return roots(m, features, b.Input("targets", tensor.Int32, rows, seq)), m.Err()
		})
	require.NoError(t, err)
	t.Cleanup(func() {
		p.Close()
		require.NoError(t, store.Close())
	})
	return p
}

func run(t *testing.T, p *graph.Program, inputs, targets []int32) {
	copy(p.Ints("tokens"), inputs)
	copy(p.Ints("targets"), targets)
	require.NoError(t, p.Run(graph.RunOptions{}))
}

// gradientsIn returns a function that reads a parameter's gradient.
func gradientsIn(store *graph.Store) func(name string) []float64 {
	return func(name string) []float64 { return graph.Float64s(store.Param(name).Grad) }
}

// compare checks each of their tensors against ours and returns the worst error.
func (r *reference) compare(t *testing.T, theirs tensorFile, links []link, tolerance, floor float64, ours func(name string) []float64) float64 {
	worst, name := r.differ(t, theirs, links, floor, ours)
	require.LessOrEqual(t, worst, tolerance, name)
	return worst
}

// differ returns the worst difference of their tensors and ours, and the name of its tensor.
func (r *reference) differ(t *testing.T, theirs tensorFile, links []link, floor float64, ours func(name string) []float64) (worst float64, where string) {
	cache := map[string][]float64{}
	for _, l := range links {
		want := theirs.values[l.theirs]
		got := make([]float64, len(want))
		l.each(t, theirs.tensor(t, l.theirs).Shape, func(name string, their, our int) {
			if cache[name] == nil {
				cache[name] = ours(name)
			}
			got[their] = cache[name][our]
		})
		if e := relativeError(got, want, floor); where == "" || math.IsNaN(e) || e > worst {
			worst, where = e, l.theirs
		}
	}
	require.Equal(t, theirs.names(), linked(links), "every tensor of the reference is compared")
	return worst, where
}

// largest returns the largest entry of all tensors of a file.
func (r *reference) largest(t *testing.T, f tensorFile) float64 {
	largest := 0.0
	for _, values := range f.values {
		for _, v := range values {
			largest = max(largest, math.Abs(v))
		}
	}
	return largest
}
