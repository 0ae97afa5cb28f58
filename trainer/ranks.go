package trainer

import (
	"fmt"
	"os"
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/optim"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer/distributed"
)

// ranks are the processes that train a run together.
type ranks struct {
	group    *distributed.Group // nil: this process trains alone
	gathered []float32          // memory of wholeOf, reused
}

// leads tells whether this process keeps the run's folder and reports: rank 0 does, and one that
// trains alone.
func (r *ranks) leads() bool { return r.group == nil || r.group.Rank() == 0 }

// place returns the device of this rank. The ranks on a host take the GPUs that they see in
// order, starting at number device.index. A rank that sees only one GPU takes it.
func (r *ranks) place(device runconfig.Device) (graph.Device, error) {
	if r.group == nil || !device.Place().OnGPU() {
		return device.Place(), nil
	}
	visible, err := graph.GPUs()
	if err != nil {
		return "", err
	}
	from := device.Index
	if local, ranks := r.group.Local(); len(visible) > 1 {
		if device.Index += local; device.Index >= len(visible) {
			return "", errors.Errorf("device.ranks: want a GPU for each of the %d ranks on this host, from number %d (device.index) on, got %d that this rank "+
				"sees: start fewer ranks on a host", ranks, from, len(visible))
		}
	}
	own := rankGPU{Bus: visible[min(device.Index, len(visible)-1)]} // opening it refuses another
	if own.Host, err = os.Hostname(); err != nil {
		return "", errors.WithStack(err)
	}
	all, err := distributed.Gather(r.group, "GPUs of the ranks", own)
	if err != nil {
		return "", err
	}
	for rank, gpu := range all {
		if first := slices.Index(all, gpu); first < rank {
			return "", errors.Errorf("device.index: want a GPU for each rank, got the one at %s on host %s for ranks %d and %d: let each see all GPUs of its "+
				"host, or a different one, by CUDA_VISIBLE_DEVICES", gpu.Bus, gpu.Host, first, rank)
		}
	}
	return device.Place(), nil
}

// rankGPU identifies a rank's GPU by its host and its PCI bus address.
type rankGPU struct{ Host, Bus string }

// noTensor is the index that rank 0 sends to end serveState.
const noTensor = -1

// tell broadcasts a number from rank 0; it returns rank 0's n on every rank.
func (r *ranks) tell(what string, n int) (int, error) {
	x := []float64{float64(n)}
	err := distributed.Broadcast(r.group, what, 0, x).Wait()
	return int(x[0]), err
}

// next broadcasts the index of the optimizer tensor that rank 0 asks for.
func (r *ranks) next(i int) (int, error) { return r.tell("next tensor of the checkpoint", i) }

// fetchState returns tensor number i of the optimizer's state on rank 0, while the other ranks
// run serveState.
func (r *ranks) fetchState(i int, s optim.StateTensor) ([]float32, error) {
	if _, err := r.next(i); err != nil {
		return nil, err
	}
	return r.gather(s)
}

// endState ends serveState on the other ranks.
func (r *ranks) endState() error {
	if r.group == nil {
		return nil
	}
	_, err := r.next(noTensor)
	return err
}

// gather returns a whole tensor of the optimizer's state, made of all ranks' parts. The next call
// returns the same memory.
func (r *ranks) gather(s optim.StateTensor) ([]float32, error) {
	whole := r.wholeOf(s)
	if s.Value != nil {
		copy(whole[s.From:s.To], s.Value.Float32s())
	}
	var pieces []distributed.Piece[float32]
	for _, p := range s.Pieces {
		pieces = append(pieces, distributed.Piece[float32]{Data: whole[p.From:p.To], Owner: p.Owner})
	}
	if err := distributed.AllGather(r.group, fmt.Sprintf("%s, for a checkpoint", s.Name), pieces).Wait(); err != nil {
		return nil, err
	}
	if s.Cut() {
		whole = s.Param.RowMajor(whole)
	}
	return whole, nil
}

// wholeOf returns memory for the whole of a tensor of which this rank has a part. The next call
// returns the same.
func (r *ranks) wholeOf(s optim.StateTensor) []float32 {
	n := s.Param.Size()
	if cap(r.gathered) < n {
		r.gathered = make([]float32, n)
	}
	return r.gathered[:n]
}
