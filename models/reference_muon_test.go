package models_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/loss"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/optim"
)

// muonTraining is a folder's record of steps with Muon and AdamW.
type muonTraining struct {
	Total       int        `json:"total_steps"`
	Warmup      int        `json:"warmup_steps"`
	Clip        float64    `json:"clip"`
	MuonLR      float64    `json:"muon_lr"`
	WeightDecay float64    `json:"muon_weight_decay"`
	Momentum    float64    `json:"momentum"`
	AdamLR      float64    `json:"adam_lr"`
	AdamBetas   [2]float64 `json:"adam_betas"`
	AdamEps     float64    `json:"adam_eps"`
	Adjust      string     `json:"adjust"`
	Muon        []string   `json:"muon_parameters"`
	Steps       []struct {
		Loss         float64 `json:"loss"`
		CrossEntropy float64 `json:"cross_entropy"`
		GradNorm     float64 `json:"grad_norm"`
		Schedule     float64 `json:"schedule"`
	} `json:"steps"`
}

// muonTolerances holds the tolerances of the steps.
type muonTolerances struct{ losses, updates, weights float64 }

func muonTolerancesOf(dt tensor.Dtype) muonTolerances {
	if dt == tensor.Float64 {
		return muonTolerances{tolerance64, tolerance64, tolerance64}
	}
	return muonTolerances{losses: 1e-5, updates: 1e-4, weights: 2e-5}
}

// parts returns the parts of the folder's optimizer.
func (m muonTraining) parts() []optim.Part {
	return []optim.Part{
		optim.Clip(m.Clip), optim.Adam(m.AdamBetas[0], m.AdamBetas[1], m.AdamEps),
		optim.Rate(m.AdamLR, optim.WarmupCosine{Warmup: m.Warmup, Total: m.Total, Min: 0.1}),
		optim.Group(optim.HiddenMatrices, optim.Muon(m.Momentum, optim.MuonScale(m.Adjust)), optim.Rate(m.MuonLR, nil), optim.Decay(m.WeightDecay, optim.Coupled, nil)),
	}
}

// checkMuon repeats the reference's steps and compares losses and gradient norms, the first update
// of each matrix and the weights after the last step.
func (r *reference) checkMuon(t *testing.T, dt tensor.Dtype) {
	var file struct {
		Training muonTraining `json:"training"`
	}
	text, err := os.ReadFile(filepath.Join(r.dir, "expected.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &file))
	r.checkFirstUpdates(t, dt, file.Training)
	r.checkMuonSteps(t, dt, file.Training)
}

// checkFirstUpdates makes one step at rate 1, in which the update is what is subtracted from a
// weight.
func (r *reference) checkFirstUpdates(t *testing.T, dt tensor.Dtype, m muonTraining) {
	store := r.store(t, dt)
	m.MuonLR, m.WeightDecay, m.Warmup = 1, 0, 0
	var weights [][]float64
	links := slices.DeleteFunc(slices.Clone(r.weights), func(l link) bool { return !slices.Contains(m.Muon, l.theirs) })
	for _, p := range store.Params() {
		weights = append(weights, graph.Float64s(p.Value))
	}
	step := r.muonSteps(t, store, m)
	step(0)
	before := map[string][]float64{}
	for i, p := range store.Params() {
		before[p.Name] = weights[i]
	}
	worst := r.compare(t, readTensors(t, r.dir, "first_updates.safetensors"), links, muonTolerancesOf(dt).updates, 0, func(name string) []float64 {
		update := slices.Clone(before[name])
		for i, w := range graph.Float64s(store.Param(name).Value) {
			update[i] -= w
		}
		return update
	})
	t.Logf("worst error: first updates %.1e", worst)
}

func (r *reference) checkMuonSteps(t *testing.T, dt tensor.Dtype, m muonTraining) {
	store, tolerance := r.store(t, dt), muonTolerancesOf(dt)
	step := r.muonSteps(t, store, m)
	worstLoss, worstNorm := 0.0, 0.0
	for i, want := range m.Steps {
		crossEntropy, z, stats := step(i)
		require.InDelta(t, want.Schedule, stats.Factor, 1e-15, "schedule of step %d", i)
		require.InEpsilon(t, want.CrossEntropy, crossEntropy, tolerance.losses, "cross-entropy of step %d", i)
		require.InEpsilon(t, want.Loss, crossEntropy+z, tolerance.losses, "loss of step %d", i)
		require.InEpsilon(t, want.GradNorm, stats.GradNorm, tolerance.losses, "gradient norm of step %d", i)
		worstLoss = max(worstLoss, math.Abs(crossEntropy+z-want.Loss)/want.Loss)
		worstNorm = max(worstNorm, math.Abs(stats.GradNorm-want.GradNorm)/want.GradNorm)
	}
	after := readTensors(t, r.dir, "weights_after_training.safetensors")
	worst := r.compare(t, after, r.weights, tolerance.weights, 0, func(name string) []float64 { return graph.Float64s(store.Param(name).Value) })
	t.Logf("worst errors over %d steps: loss %.1e, gradient norm %.1e, weights after %.1e", len(m.Steps), worstLoss, worstNorm, worst)
}

// muonSteps returns a function that makes a step on the reference's tokens.
func (r *reference) muonSteps(t *testing.T, store *graph.Store, m muonTraining) func(step int) (crossEntropy, z float64, stats optim.Stats) {
	tokens := readTensors(t, r.dir, "training_tokens.safetensors").tensor(t, "tokens")
	ids, err := tokens.Ints()
	require.NoError(t, err)
	rows, n := tokens.Shape[1], tokens.Shape[2]
	p := r.program(t, store, rows, n-1, nil, func(m *models.Model, features, targets *gorgonia.Node) graph.Roots {
		return graph.Roots{Loss: m.Loss(features, targets, r.auxiliary)}
	})
	o, err := optim.New(store, 2, m.parts()...)
	require.NoError(t, err)
	t.Cleanup(o.Close)
	return func(step int) (crossEntropy, z float64, stats optim.Stats) {
		row := make([]int32, rows*n)
		for i := range row {
			row[i] = int32(ids[step*rows*n+i])
		}
		inputs, targets := shift(row, rows, n)
		run(t, p, inputs, targets)
		crossEntropy, z, err := loss.Parts(p.Roots().Loss)
		require.NoError(t, err)
		stats, err = o.Step(1)
		require.NoError(t, err)
		require.NoError(t, store.ToHost())
		return crossEntropy, z, stats
	}
}
