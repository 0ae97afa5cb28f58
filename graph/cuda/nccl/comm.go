//go:build cuda

package nccl

import (
	"math"
	"unsafe"

	"gorgonia.org/cu"
)

// ID is what the ranks of a communicator have in common. One of them makes it and sends it to the
// others.
type ID [128]byte

// NewID makes an ID.
func NewID() (ID, error) {
	l, err := load()
	if err != nil {
		return ID{}, err
	}
	id := new(ID)
	err = l.try("ncclGetUniqueId", 0, l.getUniqueID.Call(uintptr(unsafe.Pointer(id))))
	return *id, err
}

// config is ncclConfig_t of NCCL 2.18, which newer libraries take, too.
type config struct {
	size                      uintptr
	magic, version            uint32
	blocking                  int32
	cluster, minCTAs, maxCTAs int32
	net                       uintptr
	splitShare                int32
}

// Comm is a rank's communicator. Its methods do not wait for other ranks, and must be called with
// the context of the GPU on the calling thread (cu.CUContext.Lock). After an error only Abort may
// be called.
type Comm struct {
	library *library
	handle  uintptr
}

// Join starts to make the communicator of a number of ranks on the GPU of the current context. All
// ranks have to call it; the communicator can be used once Ready says so.
func Join(id ID, rank, ranks int) (*Comm, error) {
	l, err := load()
	if err != nil {
		return nil, err
	}
	const undefined = math.MinInt32
	settings := &config{magic: 0xcafebeef, version: oldest, cluster: undefined, minCTAs: undefined, maxCTAs: undefined, splitShare: undefined}
	settings.size = unsafe.Sizeof(*settings)
	c := &Comm{library: l}
	// The id is passed by value. A structure of its size lies on the stack, where arguments after
	// the sixth are; the other four have registers.
	w := *(*[16]uintptr)(unsafe.Pointer(&id))
	result := l.initRank.Call(uintptr(unsafe.Pointer(&c.handle)), uintptr(ranks), uintptr(rank), uintptr(unsafe.Pointer(settings)), 0, 0,
		w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12], w[13], w[14], w[15])
	return c, l.try("ncclCommInitRankConfig", 0, result)
}

// Ready tells whether the communicator has started all that it was asked for: then the work is in
// its stream.
func (c *Comm) Ready() (bool, error) {
	state := new(int32)
	result := c.library.asyncError.Call(c.handle, uintptr(unsafe.Pointer(state)))
	if err := c.library.try("ncclCommGetAsyncError", c.handle, result); err != nil {
		return false, err
	}
	return *state == success, c.library.try("collective of NCCL", c.handle, uintptr(*state))
}

// Group starts the collectives that start calls for, together.
func (c *Comm) Group(start func() error) error {
	if err := c.library.try("ncclGroupStart", c.handle, c.library.groupStart.Call()); err != nil {
		return err
	}
	err := start()
	if ended := c.library.try("ncclGroupEnd", c.handle, c.library.groupEnd.Call()); err == nil {
		err = ended
	}
	return err
}

// float32s is NCCL's number for float32, the type of all arrays here; sum is its number for
// addition.
const (
	float32s = 7
	sum      = 0
)

// Reduce sums n float32 numbers at x over the ranks and stores the sums at the root's x. Other
// ranks' numbers stay as they are. All ranks call it with the same n and root, in the same
// order.
func (c *Comm) Reduce(x cu.DevicePtr, n, root int, s cu.Stream) error {
	return c.library.try("ncclReduce", c.handle, c.library.reduce.Call(uintptr(x), uintptr(x), uintptr(n), float32s, sum, uintptr(root), c.handle, s.Handle()))
}

// Broadcast copies n float32 numbers at x from the root to all ranks.
func (c *Comm) Broadcast(x cu.DevicePtr, n, root int, s cu.Stream) error {
	return c.library.try("ncclBroadcast", c.handle, c.library.broadcast.Call(uintptr(x), uintptr(x), uintptr(n), float32s, uintptr(root), c.handle, s.Handle()))
}

// Abort ends the communicator and any collective that is not done yet. Other ranks may still
// wait for that collective: call it when all are done, or after an error.
func (c *Comm) Abort() error {
	return c.library.try("ncclCommAbort", 0, c.library.abort.Call(c.handle))
}
