package main

import "github.com/pkg/errors"

// report is everything that a run measured.
type report struct {
	Machine *machine        `json:"machine"`
	Models  []modelResult   `json:"models,omitempty"`
	Sizes   []sizeResult    `json:"sizes,omitempty"`
	PyTorch []pytorchResult `json:"pytorch,omitempty"`
	Scaling []scalingResult `json:"threads_scaling,omitempty"`
	Stock   []stockResult   `json:"stock,omitempty"`
	Gemm    []gemmResult    `json:"gemm,omitempty"`
	Zoo     []zooResult     `json:"zoo,omitempty"`
}

// timing is one implementation's training speed on a workload.
type timing struct {
	StepSeconds float64 `json:"step_seconds"` // median
	TokensPS    float64 `json:"tokens_per_s"`
	GFLOPS      float64 `json:"gflops"` // of the model's own matrix products
	PeakBytes   int     `json:"peak_bytes"`
	Steps       int     `json:"steps"`
}

func newTiming(w workload, p *process) timing {
	seconds := median(p.seconds)
	return timing{StepSeconds: seconds, TokensPS: float64(w.tokens()) / seconds, GFLOPS: w.stepFLOPs() / seconds / 1e9,
		PeakBytes: p.peak, Steps: len(p.seconds)}
}

// modelResult is our speed on a workload.
type modelResult struct {
	Name       string `json:"name"`
	Batch      int    `json:"batch"`
	Seq        int    `json:"seq"`
	Parameters int    `json:"parameters"`
	TrainFLOPs int    `json:"train_flops"` // a token, forward and backward
	timing
	Share     float64 `json:"peak_share"`      // GFLOPS over the machine's peak
	Predicted int     `json:"predicted_bytes"` // weights, gradients, moments and planned buffers
}

func newModelResult(w workload, p *process) modelResult {
	return modelResult{Name: w.Name, Batch: w.Batch, Seq: w.Spec.Seq, Parameters: p.facts.Parameters,
		TrainFLOPs: w.Spec.Cost().TrainFLOPs(), timing: newTiming(w, p), Predicted: p.facts.Predicted}
}

// sizeResult compares a model with the plain transformer of its size, a token each.
type sizeResult struct {
	Model       string  `json:"model"`
	Transformer string  `json:"transformer"`
	Time        float64 `json:"time_ratio"`
	FLOPs       float64 `json:"flop_ratio"`
	Excess      float64 `json:"excess"` // time ratio over FLOP ratio
}

// compareSizes compares each workload's result with that of its plain transformer, if it has one.
func compareSizes(chosen []workload, results []modelResult) []sizeResult {
	plain, byName := map[string]string{}, map[string]modelResult{}
	for _, w := range chosen {
		plain[w.Preset.Name] = w.Name
	}
	for _, r := range results {
		byName[r.Name] = r
	}
	var sizes []sizeResult
	for _, w := range chosen {
		own := byName[w.Name]
		transformer, ok := byName[plain[w.Preset.Plain]]
		if !ok {
			continue
		}
		s := sizeResult{Model: w.Name, Transformer: transformer.Name, Time: transformer.TokensPS / own.TokensPS,
			FLOPs: float64(own.TrainFLOPs) / float64(transformer.TrainFLOPs)}
		s.Excess = s.Time / s.FLOPs
		sizes = append(sizes, s)
	}
	return sizes
}

// optimizerBytes are a parameter's value, gradient and two moments.
const optimizerBytes = 16

// rivalResult is another implementation's speed beside ours.
type rivalResult struct {
	Mode string `json:"mode"`
	timing
	Speedup float64 `json:"speedup"` // its step time over ours
	// Memory is our peak beyond 16 bytes a parameter over its own.
	Memory float64 `json:"memory_ratio"`
}

// pytorchResult is a workload's comparison with PyTorch.
type pytorchResult struct {
	Name       string        `json:"name"`
	Version    string        `json:"version"`
	Parameters int           `json:"parameters"`
	Ours       timing        `json:"ours"`
	Rivals     []rivalResult `json:"rivals"`
}

// newPyTorchResult compares processes; modes name the rivals in order.
func newPyTorchResult(w workload, mine *process, modes []string, rivals []*process) (pytorchResult, error) {
	r := pytorchResult{Name: w.Name, Parameters: mine.facts.Parameters, Ours: newTiming(w, mine)}
	for i, p := range rivals {
		if err := sameParameters(mine, p); err != nil {
			return r, err
		}
		t := newTiming(w, p)
		r.Version = p.facts.Version
		r.Rivals = append(r.Rivals, rivalResult{Mode: modes[i], timing: t, Speedup: t.StepSeconds / r.Ours.StepSeconds,
			Memory: beyond(r.Ours.PeakBytes, r.Parameters) / beyond(t.PeakBytes, r.Parameters)})
	}
	return r, nil
}

// beyond is what a peak has above weights, gradients and moments.
func beyond(peak, parameters int) float64 { return float64(peak - optimizerBytes*parameters) }

// scalingResult is a workload on one thread and on all.
type scalingResult struct {
	Name    string  `json:"name"`
	Threads int     `json:"threads"`
	One     timing  `json:"one"`
	All     timing  `json:"all"`
	Speedup float64 `json:"speedup"`
}

func newScalingResult(w workload, threads int, one, all *process) scalingResult {
	r := scalingResult{Name: w.Name, Threads: threads, One: newTiming(w, one), All: newTiming(w, all)}
	r.Speedup = r.One.StepSeconds / r.All.StepSeconds
	return r
}

// stockResult is ours beside stock Gorgonia.
type stockResult struct {
	Name       string  `json:"name"`
	Batch      int     `json:"batch"`
	Seq        int     `json:"seq"`
	Parameters int     `json:"parameters"`
	Ours       timing  `json:"ours"`
	Stock      timing  `json:"stock"`
	Speedup    float64 `json:"speedup"`
}

// newStockResult compares processes that train the same number of parameters.
func newStockResult(w workload, mine, theirs *process) (stockResult, error) {
	r := stockResult{Name: w.Name, Batch: w.Batch, Seq: w.Spec.Seq, Parameters: mine.facts.Parameters,
		Ours: newTiming(w, mine), Stock: newTiming(w, theirs)}
	r.Speedup = r.Stock.StepSeconds / r.Ours.StepSeconds
	return r, sameParameters(mine, theirs)
}

// sameParameters refuses to compare two different models.
func sameParameters(mine, theirs *process) error {
	if mine.facts.Parameters != theirs.facts.Parameters {
		return errors.Errorf("%s: want %d parameters as ours, got %d: it is another model", theirs.name, mine.facts.Parameters, theirs.facts.Parameters)
	}
	return nil
}
