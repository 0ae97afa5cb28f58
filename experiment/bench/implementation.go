package bench

import (
	"math/rand/v2"

	"github.com/pkg/errors"
)

// implementation trains one model, a step at a time, on one batch of random tokens.
type implementation interface {
	// step makes a full training step: forward, backward, clipping, AdamW. It returns the
	// loss before the update.
	step() (float64, error)
	// peak is the most memory that it has taken, in bytes: of the computer, or of a GPU. 0: the
	// system does not tell.
	peak() (int, error)
	// facts describes it.
	facts() facts
	close()
}

// facts are what an implementation says of itself before it is timed.
type facts struct {
	Parameters int    `json:"parameters"`
	Predicted  int    `json:"predicted_bytes,omitempty"` // weights, gradients, moments and buffers by its own plan; 0: it has none
	Traffic    int    `json:"traffic_bytes,omitempty"`   // what its graph's ops read and write in a step; 0: it does not tell
	Version    string `json:"version,omitempty"`
	Threads    int    `json:"threads,omitempty"` // that generation computes with; 0: it does not tell
}

// The learning rate and the rest of AdamW, in every implementation.
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
	stock      = "stock"
	generation = "generation"
)

// transformers is Hugging Face's generation, which PyTorch's script runs.
const transformers = "transformers"

// llamaCPP is llama.cpp's generation, which its script runs.
const llamaCPP = "llama.cpp"

// newImplementation makes the one of that name.
func newImplementation(name string, w Workload, on Target) (implementation, error) {
	switch name {
	case residua:
		return newResidua(w, on)
	case stock:
		return newStock(w)
	case generation:
		return newGeneration(w, on)
	}
	return nil, errors.Errorf("implementation %q: want %s, %s or %s", name, residua, stock, generation)
}

// implementationName is how tables, pictures and messages call an implementation.
func implementationName(name string) string {
	switch name {
	case residua, generation:
		return "Residua"
	case stock:
		return "stock Gorgonia"
	case Eager:
		return "PyTorch eager"
	case Compiled:
		return "torch.compile"
	case Padded:
		return "torch.compile, padded vocabulary"
	}
	return name
}

// randomBatch draws a workload's tokens and what follows each: the same ones each time.
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
