package cu

import "unsafe"

// Graph is the work of a stream from BeginCapture to EndCapture, in its order.
type Graph struct{ handle uintptr }

// GraphExec is a Graph that can be launched, as often as needed.
type GraphExec struct{ handle uintptr }

// captureRelaxed is the mode of a capture during which all threads may allocate, free and load.
const captureRelaxed = 2

// BeginCapture makes the stream record its work instead of running it, until EndCapture. Kernels'
// arguments and products' factors are copied.
//
// What is not work for later makes the capture invalid, and is the error CaptureUnsupported: to
// wait for the stream or the whole GPU, to ask whether the stream is done, to copy to the host or
// from it, to destroy the stream. Events that are recorded in it have no time. The default stream
// cannot capture, and using it is an error, too, while a stream of StreamDefault captures; one of
// StreamNonBlocking lets it work. A real driver records asynchronous copies between host and device
// with the host's address, which it reads at each launch: do not start any.
func (s Stream) BeginCapture() error {
	return anyThread("beginning to record a stream", func(d *driver) uintptr {
		return d.streamBeginCapture.Call(s.handle, captureRelaxed)
	})
}

// EndCapture ends what BeginCapture began. The error is CaptureInvalidated if a call meanwhile was
// not allowed.
func (s Stream) EndCapture() (Graph, error) {
	var g Graph
	err := anyThread("recording a stream", func(d *driver) uintptr {
		return d.streamEndCapture.Call(s.handle, uintptr(unsafe.Pointer(&g.handle)))
	})
	return g, err
}

// Instantiate makes the graph launchable. The graph may then be destroyed.
func (g Graph) Instantiate() (GraphExec, error) {
	var e GraphExec
	err := anyThread("preparing a graph", func(d *driver) uintptr {
		return d.graphInstantiate.Call(uintptr(unsafe.Pointer(&e.handle)), g.handle, 0)
	})
	return e, err
}

// Destroy frees the graph.
func (g Graph) Destroy() error {
	return anyThread("giving up a graph", func(d *driver) uintptr { return d.graphDestroy.Call(g.handle) })
}

// Launch does the graph's work, in the order of the stream. The memory that it uses must still be
// allocated. The calling thread must have the context: see CUContext.Lock.
func (e GraphExec) Launch(s Stream) error {
	d, err := load()
	if err != nil {
		return err
	}
	if r := Result(d.graphLaunch.Quick(nil, e.handle, s.handle)); r != 0 {
		return failed(r, "launching a graph")
	}
	return nil
}

// Destroy frees what Instantiate has made.
func (e GraphExec) Destroy() error {
	return anyThread("giving up a prepared graph", func(d *driver) uintptr { return d.graphExecDestroy.Call(e.handle) })
}
