package trainer

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/optim"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer/distributed"
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
	run       *runconfig.Run
	store     *graph.Store
	optimizer *optim.Optimizer
	group     *distributed.Group
	ids       []int32  // nil on other ranks than 0, which have a part of the gradients alone
	names     []string // activations of the stream, in the order of depth
}

// openNorms finds the stream's activations, if the config asks for norms.
func openNorms(t *Trainer) (*normsLog, error) {
	l := &normsLog{run: t.run, store: t.store, optimizer: t.learner.Optimizer(), group: t.group}
	if t.run.Train.LogNorms == 0 {
		return l, nil
	}
	if t.store.OnDevice() {
		return nil, errors.New("train.log_norms: want 0 on a GPU, where activations are not read back")
	}
	if !t.leads() {
		return l, nil
	}
	l.ids = probe(t.corpus, t.run.Model.Seq)
	names, err := cache.Names(t.store, t.run.Spec())
	for _, name := range names {
		if name == "embedding.out" || strings.HasSuffix(name, ".stream") {
			l.names = append(l.names, name)
		}
	}
	return l, errors.Wrap(err, "train.log_norms")
}

// Step adds the norms to the line, if the step logs them.
func (l *normsLog) Step(_ context.Context, m *Metrics) error {
	if !logs(l.run, l.run.Train.LogNorms, m.Step) {
		return nil
	}
	gradients, err := l.gradients()
	if err != nil || l.ids == nil {
		return err
	}
	n := &Norms{Gradients: gradients}
	run, err := cache.Once(l.store, l.run.Spec(), l.ids, l.names...)
	if err != nil {
		return errors.Wrap(err, "train.log_norms")
	}
	for _, name := range l.names {
		a, err := run.Get(name)
		if err != nil {
			return errors.Wrap(err, "train.log_norms")
		}
		n.Stream = append(n.Stream, eval.Number(math.Sqrt(squares(a.Values)/float64(len(a.Values)))))
	}
	for block := range l.run.Spec().Layers {
		sum := 0.0
		for _, p := range l.store.Trained() {
			if inBlock(p, block) {
				sum += squares(p.Value.Float32s())
			}
		}
		n.Weights = append(n.Weights, eval.Number(math.Sqrt(sum)))
	}
	m.Norms = n
	return nil
}

// gradients returns the norm of each block's mean gradient. In a group each rank sums over the
// entries that it updates, and the sums are added.
func (l *normsLog) gradients() ([]eval.Number, error) {
	sums := make([]float64, l.run.Spec().Layers)
	for block := range sums {
		for _, r := range l.optimizer.Table() {
			if inBlock(r.Param, block) {
				sums[block] += squares(r.Param.Grad.Float32s()[r.From:r.To])
			}
		}
	}
	if l.group != nil {
		if err := distributed.AllReduce(l.group, "norms of gradients", sums).Wait(); err != nil {
			return nil, err
		}
	}
	var norms []eval.Number
	for _, sum := range sums {
		norms = append(norms, eval.Number(math.Sqrt(sum)/float64(l.run.Train.Accumulate)))
	}
	return norms, nil
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
