package trainer

import (
	"math"
	"path/filepath"

	"github.com/pkg/errors"

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

// ReadMetrics returns the steps that a run folder's metrics.jsonl tells of, up to a torn
// line.
func ReadMetrics(dir string) ([]Metrics, error) {
	lines, err := readMetrics(filepath.Join(dir, metricsFile), math.MaxInt)
	return lines, errors.Wrap(err, "metrics")
}
