package graph

import (
	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph/cuda"
)

// Piece is a range of a parameter's entries and the rank that updates it. The entries are
// counted in row-major order or, on a device, in the order of its memory.
type Piece struct {
	Param           *Param
	From, To, Owner int
}

// DeviceRanks exchanges gradients and weights between the devices of several ranks, each of which
// has a Store with the same parameters. ReduceGradients and SpreadWeights return before their work
// is done: do not use the Store's device until Done returns true.
type DeviceRanks struct {
	store *Store
	comm  cuda.Communicator
}

// RanksIDBytes is the length of the id that NewRanksID returns.
const RanksIDBytes = 128

// NewRanksID returns the id that all ranks pass to JoinRanks: one of them makes it and sends
// it to the others. It loads NCCL.
func NewRanksID() ([]byte, error) { return newCommunicatorID() }

// GPUs returns the places on the PCI bus of the GPUs that the program sees. No two GPUs of a
// machine have the same.
func GPUs() ([]string, error) { return pciBusIDs() }

// JoinRanks starts to connect the Store's device with those of the other ranks; Done tells
// when all have joined. A Program for the device must have been compiled before.
func (s *Store) JoinRanks(id []byte, rank, ranks int) (*DeviceRanks, error) {
	if s.device == nil {
		return nil, errors.New("graph: want a store on a device to join other ranks, got one in host memory")
	}
	comm, err := openCommunicator(s.device, id, rank, ranks)
	return &DeviceRanks{s, comm}, err
}

// ReduceGradients starts to sum each piece's gradients over the ranks; the sums go to the
// gradients of the piece's owner. NCCL chooses the order of the terms.
func (r *DeviceRanks) ReduceGradients(pieces []Piece) error {
	arrays := make([]cuda.Owned, len(pieces))
	for i, p := range pieces {
		grad, err := r.store.residentGrad(p.Param)
		if err != nil {
			return err
		}
		arrays[i] = cuda.Owned{Array: grad.Slice(p.From, p.To-p.From), Owner: p.Owner}
	}
	return r.comm.Reduce(arrays)
}

// SpreadWeights starts to copy each piece's weights from its owner to all ranks. Call Refresh when
// that is done.
func (r *DeviceRanks) SpreadWeights(pieces []Piece) error {
	arrays := make([]cuda.Owned, len(pieces))
	for i, p := range pieces {
		arrays[i] = cuda.Owned{Array: p.Param.resident.value.Slice(p.From, p.To-p.From), Owner: p.Owner}
	}
	return r.comm.Broadcast(arrays)
}

// Refresh makes the copies of the weights that products read in precision bf16.
func (r *DeviceRanks) Refresh() error {
	for _, p := range r.store.params {
		if shadow := p.resident.shadow; !shadow.None() {
			if err := r.store.device.Convert(shadow, p.resident.value); err != nil {
				return errors.Wrapf(err, "parameter %q", p.Name)
			}
		}
	}
	return nil
}

// Done tells whether what was started is done. It may be called by any goroutine.
func (r *DeviceRanks) Done() (bool, error) { return r.comm.Done() }

// Abort ends the connection. Other ranks may still wait for what is not done yet: call it when all
// are done, or after an error.
func (r *DeviceRanks) Abort() {
	if r.comm != nil {
		r.comm.Abort()
	}
}
