package cuda

// Owned is an array that all ranks have, and the rank that it belongs to.
type Owned struct {
	Array
	Owner int
}

// Communicator runs collectives between the devices of several ranks, on their streams. All
// ranks start the same ones in the same order. Methods return without waiting; until Done says
// that a collective is done, the device must not be used.
type Communicator interface {
	// Reduce sums each F32 array over the ranks and stores the sum in the owner's array.
	Reduce(arrays []Owned) error
	// Broadcast copies each F32 array from its owner to all ranks.
	Broadcast(arrays []Owned) error
	// Done tells whether the last collective is done, or, before the first, whether all ranks have
	// joined.
	Done() (bool, error)
	// Abort ends the communicator and any collective that is not done yet. Other ranks may still
	// wait for that collective: call it when all are done, or after an error. A second Abort does
	// nothing.
	Abort()
}
