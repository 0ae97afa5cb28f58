package learner

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/optim"
	"github.com/residua-go/residua/trainer/distributed"
)

// openDevice connects the ranks' GPUs. It puts all parameters into one bucket, which is
// reduced after the backward pass: NCCL works on the GPU's one stream, so the two could not
// overlap.
func (r *ranks) openDevice(store *graph.Store, pieces []optim.Piece) (err error) {
	id := make([]byte, graph.RanksIDBytes)
	if r.group.Rank() == 0 {
		if id, err = graph.NewRanksID(); err != nil {
			return err
		}
	}
	if err := distributed.Broadcast(r.group, "id of NCCL", 0, id).Wait(); err != nil {
		return err
	}
	join := func() (err error) {
		r.device, err = store.JoinRanks(id, r.group.Rank(), r.group.Size())
		return err
	}
	done := func() (bool, error) { return r.device.Done() }
	if err := r.wait([]*distributed.Pending{distributed.Await(r.group, "start of NCCL", join, done)}); err != nil {
		return err
	}
	together := func(what string, start func([]graph.Piece) error) func() *distributed.Pending {
		return func() *distributed.Pending {
			return distributed.Await(r.group, what, func() error { return start(pieces) }, done)
		}
	}
	r.buckets = []*bucket{{
		reduce: together("gradients, by NCCL", r.device.ReduceGradients),
		spread: together("weights, by NCCL", r.device.SpreadWeights),
	}}
	return nil
}

// close aborts the communication between the GPUs.
func (r *ranks) close() {
	if r != nil && r.device != nil {
		r.device.Abort()
	}
}
