package bench

import (
	"fmt"
	"runtime"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// stockRun trains the stock graph with Gorgonia's own gradient, machine and solver.
type stockRun struct {
	graph  *stockGraph
	loss   gorgonia.Value
	vm     gorgonia.VM
	solver gorgonia.Solver
}

func newStock(w Workload) (*stockRun, error) {
	store := graph.NewStore(tensor.Float32, 1)
	if _, err := models.New(gorgonia.NewGraph(), w.Spec, graph.Options{Store: store}); err != nil {
		return nil, err
	}
	return newStockOn(store, w)
}

// newStockOn makes a run that trains copies of a store's parameters. It uses neither clipping nor
// weight decay: stock solvers clip single entries, not the norm, and their weight decay does
// nothing.
func newStockOn(store *graph.Store, w Workload) (*stockRun, error) {
	if !isTransformer(w.Spec) || w.ZLoss != 0 {
		return nil, errors.Errorf("workload %s: want a plain transformer without z-loss for stock Gorgonia", w.Name)
	}
	s := &stockRun{graph: &stockGraph{g: gorgonia.NewGraph(), w: w, store: store},
		solver: gorgonia.NewAdamSolver(gorgonia.WithLearnRate(learningRate), gorgonia.WithBeta1(beta1), gorgonia.WithBeta2(beta2), gorgonia.WithEps(adamEps))}
	loss := s.graph.loss(randomBatch(w))
	if s.graph.err != nil {
		return nil, s.graph.err
	}
	gorgonia.Read(loss, &s.loss)
	if _, err := gorgonia.Grad(loss, s.graph.params...); err != nil {
		return nil, errors.Wrap(err, "stock graph")
	}
	s.vm = gorgonia.NewTapeMachine(s.graph.g, gorgonia.BindDualValues(s.graph.params...))
	return s, nil
}

func (s *stockRun) step() (float64, error) {
	s.vm.Reset()
	if err := s.vm.RunAll(); err != nil {
		return 0, errors.Wrap(err, "stock graph")
	}
	loss, ok := s.loss.Data().(float32)
	if !ok {
		return 0, errors.Errorf("stock graph: want a float32 loss, got %T", s.loss.Data())
	}
	return float64(loss), errors.Wrap(s.solver.Step(gorgonia.NodesToValueGrads(s.graph.params)), "stock solver")
}

func (s *stockRun) peak() (int, error) { return peakBytes(), nil }

func (s *stockRun) facts() facts {
	n := 0
	for _, p := range s.graph.params {
		n += p.Shape().TotalSize()
	}
	return facts{Parameters: n, Version: fmt.Sprintf("gorgonia, %s", runtime.Version())}
}

func (s *stockRun) close() { _ = s.vm.Close() }
