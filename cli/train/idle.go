package train

import (
	"context"
	"github.com/residua-go/residua/analysis/blocks"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer"
)

const (
	idleNats  = 0.005 // a part is idle if the loss rises by less than this without it
	idleRows  = 8     // rows of validation text, at most
	idleShare = 0.01  // share of the run's FLOPs that the search may cost
)

// idleParts lists the blocks and sublayers of a trained model without which the validation loss
// hardly rises. It does not search if that would take more than idleShare of the run's FLOPs, or on
// a GPU.
func idleParts(ctx context.Context, run *runconfig.Run, t *trainer.Trainer) ([]string, error) {
	spec, text := run.Spec(), t.Corpus().Val.Tokens
	passes := 1 + 3*spec.Depth() // a forward pass takes a third of the FLOPs of training on the same tokens
	rows := int(idleShare * 3 * float64(run.TotalSteps()*run.StepTokens()) / float64(passes*spec.Seq))
	rows = min(rows, idleRows, text.Len()/spec.Seq)
	if _, gpu := run.Device.Place().GPU(); rows < 1 || gpu {
		return nil, nil
	}
	var ids [][]int32
	for i := range rows {
		at := i * (text.Len() / rows)
		ids = append(ids, text.Slice(at, at+spec.Seq).IDs())
	}
	worth, err := blocks.Ablate(ctx, t.Store(), spec, ids, run.Device.Threads)
	if err != nil {
		return nil, err
	}
	return worth.Idle(idleNats), nil
}
