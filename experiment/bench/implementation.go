package bench

import (
	"math/rand/v2"
	"strings"

	"github.com/pkg/errors"
)

// implementation trains one model, step by step, on one batch of random tokens.
type implementation interface {
	// step runs a full training step: forward, backward, clipping, AdamW. It returns the loss
	// before the update.
	step() (float64, error)
	// peak returns the most memory that it has taken until now, in bytes, on the computer or on a
	// GPU. 0: the system does not say.
	peak() (int, error)
	// facts describes the implementation.
	facts() facts
	close()
}

// facts are what an implementation reports about itself before it is measured.
type facts struct {
	Parameters int    `json:"parameters"`
	Predicted  int    `json:"predicted_bytes,omitempty"` // weights, gradients, moments and buffers according to its own plan; 0: it has no plan
	Traffic    int    `json:"traffic_bytes,omitempty"`   // what its graph's ops read and write in a step; 0: it does not report it
	Version    string `json:"version,omitempty"`
	Threads    int    `json:"threads,omitempty"` // threads with which generation computes; 0: it does not report them
}

// The settings of AdamW in every implementation.
const (
	learningRate = 1e-3
	beta1        = 0.9
	beta2        = 0.95
	adamEps      = 1e-8
	weightDecay  = 1e-4
	clipNorm     = 1.0
)

// The implementations in this program.
const (
	residua    = "residua"
	generation = "generation"
)

// transformers is generation by Hugging Face's transformers, which PyTorch's script runs.
const transformers = "transformers"

// jaxOnXLA is training by JAX, which its own script runs.
const jaxOnXLA = "jax"

// llamaCPP is generation by llama.cpp, which its own script runs.
const llamaCPP = "llama.cpp"

// newImplementation makes the implementation with that name.
func newImplementation(name string, w Workload, on Target) (implementation, error) {
	switch name {
	case residua:
		return newResidua(w, on)
	case generation:
		return newGeneration(w, on)
	}
	return nil, errors.Errorf("implementation %q: want %s or %s", name, residua, generation)
}

// implementationName returns the name of an implementation in tables, pictures and messages.
func implementationName(name string) string {
	if mode, float32s := strings.CutSuffix(name, inFloat32); float32s {
		return implementationName(mode) + ", float32"
	}
	switch name {
	case residua, generation:
		return "Residua"
	case jaxOnXLA:
		return "JAX"
	case Eager:
		return "PyTorch eager"
	case Compiled:
		return "torch.compile"
	case Padded:
		return "torch.compile, padded vocabulary"
	}
	return name
}

// randomBatch draws a workload's tokens and their successors: the same in every call.
func randomBatch(w Workload) (tokens, targets []int32) {
	draw := rand.New(rand.NewPCG(1, 2))
	for range w.Batch {
		row := make([]int32, w.Spec.Seq+1)
		for i := range row {
			row[i] = int32(draw.IntN(w.Spec.Vocab))
		}
		tokens, targets = append(tokens, row[:w.Spec.Seq]...), append(targets, row[1:]...)
	}
	return tokens, targets
}
