package cuda

// Owned is an array that all ranks have, and the rank that it belongs to.
type Owned struct {
	Array
	Owner int
}

// Communicator runs collectives between the devices of several ranks, on their streams. All ranks
// start the same ones in the same order. Methods return without waiting; until Done says that a
// collective is done, the device may not be used.
type Communicator interface {
	// Reduce adds up each array of F32 over the ranks, into its owner's.
	Reduce(arrays []Owned) error
	// Broadcast copies each array of F32 from its owner to all ranks.
	Broadcast(arrays []Owned) error
	// Done tells whether the last collective is done, or, before the first, whether all ranks have
	// joined.
	Done() (bool, error)
	// Abort ends the communicator, and what is not done yet. Other ranks may still wait for that:
	// call it when all are done, or after an error. A second Abort does nothing.
	Abort()
}
