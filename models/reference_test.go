package models_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/loss"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/optim"
)

// Tolerances, as max |difference| / max |reference| a tensor.
const (
	tolerance64       = 1e-9
	tolerance32       = 2e-5
	toleranceSteps    = 1e-4 // losses and gradient norms of training steps
	toleranceWeights  = 1e-3 // weights after them
	toleranceSchedule = 1e-6
	gradientFloor     = 0.1 // a gradient's denominator, of the model's largest gradient entry
)

// referenceDir is where reference folders lie: RESIDUA_REFERENCE, or the project's own.
// A relative path is relative to the project's root, where go test ./... is called.
func referenceDir() string {
	dir := os.Getenv("RESIDUA_REFERENCE")
	switch {
	case dir == "":
		return filepath.Join("..", "testdata", "reference")
	case filepath.IsAbs(dir):
		return dir
	}
	return filepath.Join("..", dir)
}

// expected is a folder's expected.json.
type expected struct {
	Kind         string          `json:"kind"`
	Config       json.RawMessage `json:"config"`
	Vocab        int             `json:"vocab"`
	Batch        int             `json:"batch"`
	Seq          int             `json:"seq"`
	BOS          int             `json:"bos"`
	Loss         float64         `json:"loss"`
	LossWithZ    float64         `json:"loss_with_z"`
	CrossEntropy float64         `json:"cross_entropy"`
	ZLoss        float64         `json:"z_loss"`
	Training     *training       `json:"training"`
}

// training is the reference's record of its training steps.
type training struct {
	Steps []struct {
		Schedule     float64 `json:"schedule"`
		LossWithZ    float64 `json:"loss_with_z"`
		CrossEntropy float64 `json:"cross_entropy"`
		GradNorm     float64 `json:"grad_norm"`
	} `json:"steps"`
	PeakLR      float64 `json:"peak_lr"`
	Warmup      int     `json:"warmup_steps"`
	Total       int     `json:"total_steps"`
	B1          float64 `json:"b1"`
	B2          float64 `json:"b2"`
	Eps         float64 `json:"eps"`
	Clip        float64 `json:"clip"`
	WeightDecay float64 `json:"weight_decay"`
}

// reference is one folder, opened.
type reference struct {
	dir       string
	expected  expected
	config    models.Config
	auxiliary models.Auxiliary // what its loss has beside the cross-entropy
	weights   []link           // how its weights and gradients lie in ours
	watched   []link           // how its intermediates lie in our hooks
	device    graph.Options    // Device and Precision that it is computed on; zero: the CPU
}

// TestReference compares models with numbers that others' code computed, for every
// folder it finds.
func TestReference(t *testing.T) {
	entries, err := os.ReadDir(referenceDir())
	require.NoError(t, err)
	names := []string{}
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	if _, err := os.Stat(filepath.Join(referenceDir(), "expected.json")); err == nil {
		names = []string{"."} // the folder itself is a reference
	}
	sort.Strings(names)
	found := 0
	for _, name := range names {
		dir := filepath.Join(referenceDir(), name)
		if _, err := os.Stat(filepath.Join(dir, "expected.json")); err == nil {
			if _, err := os.Stat(filepath.Join(dir, "weights.safetensors")); err == nil {
				found++
				t.Run(name, func(t *testing.T) { testFolder(t, dir) })
			}
		} else if _, err := os.Stat(filepath.Join(dir, "config.json")); err == nil {
			found++
			t.Run(name, func(t *testing.T) { testHuggingFace(t, dir) })
		}
	}
	require.NotZero(t, found, "folders with expected.json and weights, or a Hugging Face config.json, in %s", referenceDir())
}

func testFolder(t *testing.T, dir string) {
	r := openReference(t, dir)
	if r == nil {
		return
	}
	official := r.expected.Training != nil
	var worst32 float64
	t.Run("float32", func(t *testing.T) {
		worst32 = r.checkForward(t, tensor.Float32, tolerance32)
		if official {
			r.checkIntermediates(t)
			r.checkTraining(t)
		}
	})
	if !official {
		t.Run("float64", func(t *testing.T) { r.checkForward(t, tensor.Float64, tolerance64) })
	}
	for _, d := range devices() {
		t.Run(d.name, func(t *testing.T) {
			r.device = d.options
			r.checkForward(t, tensor.Float32, d.bound(worst32))
			if official && d.exact {
				r.checkIntermediates(t)
				r.checkTraining(t)
			}
		})
	}
}

// referenceDevice is what else than the CPU a build compares references on.
type referenceDevice struct {
	name      string
	options   graph.Options
	tolerance float64
	unit      float64 // of rounding, in those of float32
	exact     bool    // as exact as the CPU in float32
}

// bound is the tolerance of a reference whose worst error in float32 is known: rounding
// errors grow with the unit, so that an ill-conditioned model, whose error in float32 times
// the units is beyond the tolerance, gets half of what the bound of float32 errors says. Its
// own error would not do: it is one draw, and another on each kind of processor (hyper-dynamic:
// 1.1e-5 with AVX2, 1.3e-5 with AVX-512, 1.7e-5 in portable Go).
func (d referenceDevice) bound(worst32 float64) float64 {
	if d.exact || worst32*d.unit/2 <= d.tolerance {
		return d.tolerance
	}
	return tolerance32 * d.unit / 2
}

// openReference reads expected.json and finds the folder's kind; a kind without a stream
// skips.
func openReference(t *testing.T, dir string) *reference {
	text, err := os.ReadFile(filepath.Join(dir, "expected.json"))
	require.NoError(t, err)
	r := &reference{dir: dir}
	require.NoError(t, json.Unmarshal(text, &r.expected))
	read := readers()[r.expected.Kind]
	if read == nil {
		t.Skipf("kind %q: its stream or block is not built yet", r.expected.Kind)
	}
	read(t, r)
	return r
}

// batch is the input of the forward comparison.
type batch struct {
	inputs, targets []int32
	rows, seq       int
	logits          []float64
}

func (r *reference) batch(t *testing.T) batch {
	file := readTensors(t, r.dir, "batch.safetensors")
	logits := floats(t, file, "logits")
	if r.expected.Training != nil {
		ids := file.tensor(t, "input_ids")
		return batch{int32s(t, file, "input_ids"), int32s(t, file, "target_ids"), ids.Shape[0], ids.Shape[1], logits}
	}
	tokens := file.tensor(t, "tokens")
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
	worstGradient := r.compare(t, gradients, r.weights, tolerance, r.largest(t, gradients)*gradientFloor, func(name string) []float64 {
		return graph.Float64s(store.Param(name).Grad)
	})
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
	_, err := models.New(gorgonia.NewGraph(), modeltest.Resolve(t, r.config), models.WithDType(dt), models.WithStore(store))
	require.NoError(t, err)
	theirs := readTensors(t, r.dir, "weights.safetensors")
	loadWeights(t, store, theirs, r.weights)
	return store
}

// loadWeights writes their tensors into every parameter of a store.
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

// compare checks each of their tensors against ours and returns the worst error.
func (r *reference) compare(t *testing.T, theirs tensorFile, links []link, tolerance, floor float64, ours func(name string) []float64) float64 {
	worst := 0.0
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
		e := relativeError(got, want, floor)
		require.LessOrEqual(t, e, tolerance, l.theirs)
		worst = max(worst, e)
	}
	require.Equal(t, theirs.names(), linked(links), "every tensor of the reference is compared")
	return worst
}

// largest is the largest entry of all tensors of a file.
func (r *reference) largest(t *testing.T, f tensorFile) float64 {
	largest := 0.0
	for _, values := range f.values {
		for _, v := range values {
			largest = max(largest, math.Abs(v))
		}
	}
	return largest
}

// relativeError is max |got - want| / max(max |want|, floor); NaN counts as infinite.
func relativeError(got, want []float64, floor float64) float64 {
	difference, scale := 0.0, floor
	for i := range want {
		d := math.Abs(got[i] - want[i])
		if math.IsNaN(d) {
			return math.Inf(1)
		}
		difference, scale = max(difference, d), max(scale, math.Abs(want[i]))
	}
	if difference == 0 {
		return 0
	}
	return difference / scale
}

// tensorFile is a safetensors file with its float tensors widened.
type tensorFile struct {
	byName map[string]checkpoint.Tensor
	values map[string][]float64
}

func readTensors(t *testing.T, dir, name string) tensorFile {
	file, err := checkpoint.ReadTensors(filepath.Join(dir, name))
	require.NoError(t, err)
	f := tensorFile{map[string]checkpoint.Tensor{}, map[string][]float64{}}
	for _, tensor := range file.Tensors {
		f.byName[tensor.Name] = tensor
		if values, err := tensor.Float64s(); err == nil {
			f.values[tensor.Name] = values
		}
	}
	return f
}

func (f tensorFile) tensor(t *testing.T, name string) checkpoint.Tensor {
	require.Contains(t, f.byName, name)
	return f.byName[name]
}

func (f tensorFile) names() []string {
	names := []string{}
	for name := range f.values {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func floats(t *testing.T, f tensorFile, name string) []float64 {
	require.Contains(t, f.values, name)
	return f.values[name]
}

func int32s(t *testing.T, f tensorFile, name string) []int32 {
	ints, err := f.tensor(t, name).Ints()
	require.NoError(t, err)
	out := make([]int32, len(ints))
	for i, v := range ints {
		out[i] = int32(v)
	}
	return out
}
