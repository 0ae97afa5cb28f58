//go:build cuda

package cuda

import (
	"github.com/pkg/errors"
	"gorgonia.org/cu"

	"github.com/residua-go/residua/graph/cuda/nccl"
)

var errAborted = errors.New("NCCL: want an open communicator, got one that has been aborted")

// communicator is a Communicator that uses NCCL.
type communicator struct {
	device *Device
	comm   *nccl.Comm // nil: aborted
	bytes  int        // of all arrays of the collective in progress
}

// NewCommunicatorID returns what the ranks of a communicator have in common: one of them makes it
// and sends it to the others.
func NewCommunicatorID() ([]byte, error) {
	id, err := nccl.NewID()
	return id[:], err
}

// Join starts to make an NCCL communicator of the given number of ranks.
func (d *Device) Join(id []byte, rank, ranks int) (Communicator, error) {
	var whole nccl.ID
	if copy(whole[:], id) != len(whole) {
		return nil, errors.Errorf("NCCL: want an id of %d bytes, got %d", len(whole), len(id))
	}
	c := &communicator{device: d}
	err := d.within(func() (err error) {
		c.comm, err = nccl.Join(whole, rank, ranks)
		return err
	})
	return c, err
}

// PCIBusIDs returns the places on the PCI bus of the GPUs that the program sees.
func PCIBusIDs() ([]string, error) { return cu.PCIBusIDs() }

func (c *communicator) Reduce(arrays []Owned) error { return c.start(arrays, (*nccl.Comm).Reduce) }

func (c *communicator) Broadcast(arrays []Owned) error {
	return c.start(arrays, (*nccl.Comm).Broadcast)
}

// start starts a collective for each array, all of them in one group.
func (c *communicator) start(arrays []Owned, one func(c *nccl.Comm, x cu.DevicePtr, n, root int, s cu.Stream) error) error {
	if c.comm == nil {
		return errAborted
	}
	c.bytes = 0
	return c.device.within(func() error {
		return c.comm.Group(func() error {
			for _, a := range arrays {
				if a.Type != F32 {
					return errors.Errorf("NCCL: want arrays of f32, got %v", a.Array)
				}
				c.bytes += a.Bytes()
				if err := one(c.comm, cu.DevicePtr(a.Ptr), a.N, a.Owner, cu.NoStream); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func (c *communicator) Done() (done bool, err error) {
	if c.comm == nil {
		return false, errAborted
	}
	err = c.device.within(func() (err error) {
		if done, err = c.comm.Ready(); done {
			done, err = cu.NoStream.Done()
		}
		if done && c.bytes > 0 {
			err = c.device.profile.note(Work{Copy: CopyRanks, Bytes: c.bytes})
		}
		return err
	})
	return done, err
}

func (c *communicator) Abort() {
	if c.comm != nil {
		_ = c.device.within(c.comm.Abort)
		c.comm = nil
	}
}
