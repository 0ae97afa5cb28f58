package trainer

import (
	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/optim"
)

// NewOptimizer returns the optimizer that a run trains a Store's parameters with.
func NewOptimizer(store *graph.Store, run *config.Run) (*optim.Optimizer, error) {
	parts, err := run.Optimizer()
	if err != nil {
		return nil, err
	}
	return optim.New(store, run.Device.Threads, parts...)
}
