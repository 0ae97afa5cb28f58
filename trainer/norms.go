package trainer

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/analysis/cache"
	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/graph"
)

// Norms are sizes inside the model at a step. A number that is not finite is null in JSON.
type Norms struct {
	Stream    []eval.Number `json:"stream"`    // root mean square of the embedding, then of the stream after each site
	Weights   []eval.Number `json:"weights"`   // of each block's parameters, after the update
	Gradients []eval.Number `json:"gradients"` // of their gradients, before clipping
}

// normsLog measures Norms on a row of text.
type normsLog struct {
	ids   []int32
	names []string // activations of the stream, in the order of depth
}

// openNorms finds the stream's activations, if the config asks for norms.
func (t *Trainer) openNorms(context.Context) error {
	if t.run.Train.LogNorms == 0 {
		return nil
	}
	if t.store.OnDevice() {
		return errors.New("train.log_norms: want 0 on a GPU, where activations are not read back")
	}
	names, err := cache.Names(t.store, t.run.Spec())
	if err != nil {
		return errors.Wrap(err, "train.log_norms")
	}
	t.norms = &normsLog{ids: t.probe()}
	for _, name := range names {
		if name == "embedding.out" || strings.HasSuffix(name, ".stream") {
			t.norms.names = append(t.norms.names, name)
		}
	}
	return nil
}

// measureNorms returns what to log at a step, nil if the step does not log it.
func (t *Trainer) measureNorms(step int) (*Norms, error) {
	if t.norms == nil || !t.logs(t.run.Train.LogNorms, step) {
		return nil, nil
	}
	n := &Norms{}
	run, err := cache.Once(t.store, t.run.Spec(), t.norms.ids, t.norms.names...)
	if err != nil {
		return nil, errors.Wrap(err, "train.log_norms")
	}
	for _, name := range t.norms.names {
		a, err := run.Get(name)
		if err != nil {
			return nil, errors.Wrap(err, "train.log_norms")
		}
		n.Stream = append(n.Stream, eval.Number(norm(a.Values)/math.Sqrt(float64(len(a.Values)))))
	}
	for block := range t.run.Spec().Layers {
		n.Weights = append(n.Weights, t.blockNorm(block, 1, func(p *graph.Param) []float32 { return p.Value.Float32s() }))
		n.Gradients = append(n.Gradients, t.blockNorm(block, 1/float64(t.run.Train.Accumulate), func(p *graph.Param) []float32 { return p.Grad.Float32s() }))
	}
	return n, nil
}

// logs tells whether a step logs what is logged at each multiple of every, and at the last step.
func (t *Trainer) logs(every, step int) bool {
	return step%every == 0 || step == t.run.TotalSteps()
}

// blockNorm returns the norm of the parameters of a block, or of what else they have, times a scale.
func (t *Trainer) blockNorm(block int, scale float64, of func(*graph.Param) []float32) eval.Number {
	sum := 0.0
	for _, p := range t.store.Params() {
		if strings.HasPrefix(p.Name, fmt.Sprintf("blocks.%d.", block)) {
			sum = math.Hypot(sum, norm(of(p)))
		}
	}
	return eval.Number(sum * scale)
}

// norm returns the Euclidean norm.
func norm[T float32 | float64](values []T) float64 {
	sum := 0.0
	for _, v := range values {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum)
}
