// Package distributed runs collectives between the ranks of a job: the processes that train one
// model together. A Group makes them from the messages of a Transport, which is MPI (package
// distributed/mpi) or memory shared by goroutines (Memory).
package distributed

// Transport carries messages between the ranks of a job. A Group calls all of its methods from one
// goroutine, which stays on one OS thread.
type Transport interface {
	// Start joins the job. It is called once, before all others but Name.
	Start() error
	// Rank returns this rank, 0 to Size-1.
	Rank() int
	// Size returns the number of ranks.
	Size() int
	// Send starts to send data, which must not change until Test says that the request is done.
	Send(to, tag int, data []byte) (Request, error)
	// Receive starts to receive a message of len(data) bytes. Messages of one sender and tag
	// arrive in the order in which they were sent.
	Receive(from, tag int, data []byte) (Request, error)
	// Test tells without waiting whether a request is done. It is not called again after that.
	Test(Request) (done bool, err error)
	// Name returns the library and its version.
	Name() string
	// Abort ends the processes of all ranks with an exit code. It may not return.
	Abort(code int)
	// Close leaves the job, when all requests are done. After a failure it need not be called.
	Close() error
}

// Request is a message that a Transport has started to send or to receive.
type Request any
