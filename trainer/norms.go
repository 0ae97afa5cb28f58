package trainer

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/analysis/cache"
	"github.com/residua-go/residua/distributed"
	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/graph"
)

// Norms holds the sizes of activations, weights and gradients at a step. In JSON, a number
// that is not finite is null.
type Norms struct {
	Stream    []eval.Number `json:"stream"`    // root mean square of the embedding, then of the stream after each site
	Weights   []eval.Number `json:"weights"`   // norm of each block's parameters, after the update
	Gradients []eval.Number `json:"gradients"` // norm of each block's mean gradient, before clipping
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
	if !t.leads() {
		t.norms = &normsLog{}
		return nil
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
	gradients, err := t.gradientNorms()
	if err != nil || !t.leads() {
		return nil, err
	}
	n := &Norms{Gradients: gradients}
	run, err := cache.Once(t.store, t.run.Spec(), t.norms.ids, t.norms.names...)
	if err != nil {
		return nil, errors.Wrap(err, "train.log_norms")
	}
	for _, name := range t.norms.names {
		a, err := run.Get(name)
		if err != nil {
			return nil, errors.Wrap(err, "train.log_norms")
		}
		n.Stream = append(n.Stream, eval.Number(math.Sqrt(squares(a.Values)/float64(len(a.Values)))))
	}
	for block := range t.run.Spec().Layers {
		sum := 0.0
		for _, p := range t.store.Trained() {
			if inBlock(p, block) {
				sum += squares(p.Value.Float32s())
			}
		}
		n.Weights = append(n.Weights, eval.Number(math.Sqrt(sum)))
	}
	return n, nil
}

// gradientNorms returns the norm of each block's mean gradient. In a group each rank sums over
// the entries that it updates, and the sums are added.
func (t *Trainer) gradientNorms() ([]eval.Number, error) {
	sums := make([]float64, t.run.Spec().Layers)
	for block := range sums {
		for _, r := range t.learner.Optimizer().Table() {
			if inBlock(r.Param, block) {
				sums[block] += squares(r.Param.Grad.Float32s()[r.From:r.To])
			}
		}
	}
	if t.group != nil {
		if err := distributed.AllReduce(t.group, "norms of gradients", sums).Wait(); err != nil {
			return nil, err
		}
	}
	var norms []eval.Number
	for _, sum := range sums {
		norms = append(norms, eval.Number(math.Sqrt(sum)/float64(t.run.Train.Accumulate)))
	}
	return norms, nil
}

// logs tells whether to log at a step: at each multiple of every, and at the last step.
func (t *Trainer) logs(every, step int) bool {
	return step%every == 0 || step == t.run.TotalSteps()
}

// inBlock tells whether a parameter belongs to a block.
func inBlock(p *graph.Param, block int) bool {
	return strings.HasPrefix(p.Name, fmt.Sprintf("blocks.%d.", block))
}

// squares returns the sum of the squares.
func squares[T float32 | float64](values []T) float64 {
	sum := 0.0
	for _, v := range values {
		sum += float64(v) * float64(v)
	}
	return sum
}
