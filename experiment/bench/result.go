package bench

import (
	"encoding/json"
	"os"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/stats"
)

// Report holds all results.
type Report struct {
	Machine    *Machine           `json:"machine"`
	Models     []ModelResult      `json:"models,omitempty"`
	Sizes      []SizeResult       `json:"sizes,omitempty"`
	PyTorch    []PyTorchResult    `json:"pytorch,omitempty"`
	Threads    []ThreadsResult    `json:"threads_scaling,omitempty"`
	Stock      []StockResult      `json:"stock,omitempty"`
	Products   []ProductResult    `json:"gemm,omitempty"`
	Designs    []DesignResult     `json:"zoo,omitempty"`
	Generation []GenerationResult `json:"generation,omitempty"`
	Failures   []Failure          `json:"failures,omitempty"`
}

// ReadReport reads a report that bench -out wrote as JSON. For a missing file, os.IsNotExist of the
// error's cause is true.
func ReadReport(path string) (*Report, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &Report{}
	if err := json.Unmarshal(text, r); err != nil || r.Machine == nil {
		return nil, errors.Errorf("%s: want the JSON object that bench -out writes, got something else (%v)", path, err)
	}
	return r, nil
}

// Failure is a measurement that failed.
type Failure struct {
	Name  string `json:"name"` // the implementation and the model
	Error string `json:"error"`
}

// shares updates the values that depend on the machine's peak, which each measurement improves.
func (r *Report) shares() {
	for i := range r.Models {
		r.Models[i].Share = r.Machine.share(r.Models[i].GFLOPS)
	}
	for i := range r.Products {
		r.Products[i].Share = r.Machine.share(r.Products[i].GFLOPS)
	}
	for i := range r.Generation {
		r.Generation[i].shares(r.Machine)
	}
}

// Timing is one implementation's training speed on a workload.
type Timing struct {
	StepSeconds float64 `json:"step_seconds"` // median
	TokensPS    float64 `json:"tokens_per_s"`
	GFLOPS      float64 `json:"gflops"` // of the model's own matrix products
	PeakBytes   int     `json:"peak_bytes"`
	Steps       int     `json:"steps"`
}

func newTiming(w Workload, of *worker) Timing {
	seconds := stats.Median(of.seconds)
	return Timing{StepSeconds: seconds, TokensPS: float64(w.tokens()) / seconds, GFLOPS: w.stepFLOPs() / seconds / 1e9,
		PeakBytes: of.peak, Steps: len(of.seconds)}
}

// ModelResult is Residua's speed on a workload.
type ModelResult struct {
	Name       string `json:"name"`
	Batch      int    `json:"batch"`
	Seq        int    `json:"seq"`
	Parameters int    `json:"parameters"`
	TrainFLOPs int    `json:"train_flops"` // for a token, forward and backward
	Timing
	Share     float64 `json:"peak_share"`      // GFLOPS divided by the machine's peak
	Predicted int     `json:"predicted_bytes"` // weights, gradients, moments and planned buffers
}

func newModelResult(w Workload, of *worker) ModelResult {
	return ModelResult{Name: w.Name, Batch: w.Batch, Seq: w.Spec.Seq, Parameters: of.facts.Parameters,
		TrainFLOPs: w.Spec.Cost().TrainFLOPs(), Timing: newTiming(w, of), Predicted: of.facts.Predicted}
}

// SizeResult compares a model with the plain transformer of its size; both numbers are per
// token.
type SizeResult struct {
	Model       string  `json:"model"`
	Transformer string  `json:"transformer"`
	Time        float64 `json:"time_ratio"`
	FLOPs       float64 `json:"flop_ratio"`
	Excess      float64 `json:"excess"` // Time divided by FLOPs
}

// compareSizes compares each workload's result with that of its plain transformer, if it has one.
func compareSizes(chosen []Workload, results []ModelResult) []SizeResult {
	result := func(name string) *ModelResult {
		for i := range results {
			if results[i].Name == name {
				return &results[i]
			}
		}
		return nil
	}
	var sizes []SizeResult
	for _, w := range chosen {
		for _, plain := range chosen {
			own, transformer := result(w.Name), result(plain.Name)
			if w.Preset.Baseline != plain.Preset.Name || own == nil || transformer == nil {
				continue
			}
			s := SizeResult{Model: w.Name, Transformer: plain.Name, Time: transformer.TokensPS / own.TokensPS,
				FLOPs: float64(own.TrainFLOPs) / float64(transformer.TrainFLOPs)}
			s.Excess = s.Time / s.FLOPs
			sizes = append(sizes, s)
		}
	}
	return sizes
}

// stateBytes is the size of one entry's value, gradient and two moments in AdamW.
const stateBytes = 16

// BaselineResult is the speed of PyTorch in one of its modes, or of JAX, compared with Residua's.
type BaselineResult struct {
	Mode string `json:"mode"`
	Timing
	Speedup float64 `json:"speedup"` // its step time divided by Residua's
	// Memory is Residua's activation memory divided by its own: the peak minus 16 bytes for each
	// parameter. 0: unknown.
	Memory float64 `json:"memory_ratio"`
}

// PyTorchResult is a workload's comparison with PyTorch and JAX.
type PyTorchResult struct {
	Name       string           `json:"name"`
	Version    string           `json:"version"`
	Parameters int              `json:"parameters"`
	Residua    Timing           `json:"ours"`
	Baselines  []BaselineResult `json:"baselines"` // those that did not fail
}

// newPyTorchResult compares workers; modes names the baselines in order.
func newPyTorchResult(w Workload, own *worker, modes []string, baselines []*worker) PyTorchResult {
	r := PyTorchResult{Name: w.Name, Parameters: own.facts.Parameters, Residua: newTiming(w, own)}
	for i, theirs := range baselines {
		if !theirs.ok() {
			continue
		}
		t := newTiming(w, theirs)
		result := BaselineResult{Mode: modes[i], Timing: t, Speedup: t.StepSeconds / r.Residua.StepSeconds}
		if r.Residua.PeakBytes > 0 && t.PeakBytes > 0 {
			result.Memory = activations(r.Residua.PeakBytes, r.Parameters) / activations(t.PeakBytes, r.Parameters)
		}
		r.Baselines = append(r.Baselines, result)
		if v := theirs.facts.Version; !strings.Contains(r.Version, v) {
			r.Version = strings.TrimPrefix(r.Version+", "+v, ", ")
		}
	}
	return r
}

// activations returns the part of a peak above weights, gradients and moments.
func activations(peak, parameters int) float64 { return float64(peak - stateBytes*parameters) }

// ThreadsResult is a workload on one thread and on all.
type ThreadsResult struct {
	Name    string  `json:"name"`
	Threads int     `json:"threads"`
	One     Timing  `json:"one"`
	All     Timing  `json:"all"`
	Speedup float64 `json:"speedup"`
}

func newThreadsResult(w Workload, threads int, one, all *worker) ThreadsResult {
	r := ThreadsResult{Name: w.Name, Threads: threads, One: newTiming(w, one), All: newTiming(w, all)}
	r.Speedup = r.One.StepSeconds / r.All.StepSeconds
	return r
}

// StockResult compares Residua with stock Gorgonia.
type StockResult struct {
	Name       string  `json:"name"`
	Batch      int     `json:"batch"`
	Seq        int     `json:"seq"`
	Parameters int     `json:"parameters"`
	Residua    Timing  `json:"ours"`
	Stock      Timing  `json:"stock"`
	Speedup    float64 `json:"speedup"`
}

func newStockResult(w Workload, own, theirs *worker) StockResult {
	r := StockResult{Name: w.Name, Batch: w.Batch, Seq: w.Spec.Seq, Parameters: own.facts.Parameters,
		Residua: newTiming(w, own), Stock: newTiming(w, theirs)}
	r.Speedup = r.Stock.StepSeconds / r.Residua.StepSeconds
	return r
}

// sameParameters returns an error if two models have different numbers of parameters; it ignores a
// worker that has failed.
func sameParameters(own, theirs *worker) error {
	if own.ok() && theirs.ok() && own.facts.Parameters != theirs.facts.Parameters {
		return errors.Errorf("%s: want %d parameters as Residua's, got %d: it is another model", theirs.name, own.facts.Parameters, theirs.facts.Parameters)
	}
	return nil
}
