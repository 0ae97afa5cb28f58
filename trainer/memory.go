package trainer

import (
	"context"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
)

// checkMemory refuses a run that does not fit in the machine's memory, before anything is
// allocated, and says what would fit. Ranks on one machine all check before any of them
// allocates; each may use an equal share.
func (t *Trainer) checkMemory(context.Context) error {
	available := graph.AvailableMemory()
	if t.group == nil {
		return errors.Wrap(fits(t.run, available), "the model and its training")
	}
	_, local := t.group.Local()
	return errors.Wrapf(fits(t.run, available/local), "the model and its training, by each of the %d ranks on this machine", local)
}

// fits returns an error if the least memory that a run takes is more than available, in bytes.
// It counts host memory only, including the host's copies of weights and moments; a GPU's
// memory is left to its driver.
func fits(run *runconfig.Run, available int) error {
	need := run.MemoryNeed(run.Spec())
	if need.Total() <= available {
		return nil
	}
	return need.Within(available, smaller(run, available).String())
}

// smaller lists single changes of a key that make the run fit: fewer rows, recomputation, a smaller
// model.
func smaller(run *runconfig.Run, available int) models.Changes {
	var changes models.Changes
	less := *run
	for less.Train.Batch = run.Train.Batch / 2; less.Train.Batch > 0; less.Train.Batch /= 2 {
		if less.MemoryNeed(run.Spec()).Total() <= available {
			changes = append(changes, models.Change{Field: "train.batch", Value: less.Train.Batch})
			break
		}
	}
	less = *run
	less.Train.Recompute = string(graph.RecomputeBlock)
	if less.MemoryNeed(run.Spec()).Total() <= available {
		changes = append(changes, models.Change{Field: "train.recompute", Value: graph.RecomputeBlock})
	}
	return append(changes, run.Model.Smaller("model.", func(spec models.Spec) bool { return run.MemoryNeed(spec).Total() <= available })...)
}
