//go:build cuda

package cuda

import (
	"github.com/pkg/errors"
	"gorgonia.org/cu"
)

// errRecording is returned by what cannot be part of a graph.
var errRecording = errors.New("while work is recorded: want kernels, products and copies on the device, got a copy from or to the host, or a wait")

// graph is recorded work.
type graph struct {
	d       *Device
	exec    cu.GraphExec
	scratch int // version of the scratch memory that it uses
}

// Capture records what f starts as a CUDA graph, on a stream that does not wait for the default
// one.
func (d *Device) Capture(f func() error) (Replay, error) {
	if err := d.begin(); err != nil {
		return nil, errors.Wrap(err, "recording")
	}
	before := d.scratch.version
	err := f()
	recorded, ended := d.end()
	switch {
	case err != nil:
	case ended != nil:
		err = ended
	case d.scratch.version != before:
		err = errors.WithStack(ErrStale)
	default:
		return recorded, nil
	}
	if recorded != nil {
		_ = recorded.Close()
	}
	return nil, errors.Wrap(err, "recording")
}

// begin makes the Device start its work on a stream that only records.
func (d *Device) begin() error {
	return d.within(func() (err error) {
		d.scratch.reset(d)
		if d.recorder == cu.NoStream {
			if d.recorder, err = cu.NewStream(cu.StreamNonBlocking); err != nil {
				return err
			}
		}
		if err = d.recorder.BeginCapture(); err == nil {
			d.stream = d.recorder
		}
		return err
	})
}

// end makes the Device start its work on the default stream again.
func (d *Device) end() (recorded *graph, err error) {
	d.stream = cu.NoStream
	err = d.within(func() error {
		g, err := d.recorder.EndCapture()
		if err != nil {
			return err
		}
		defer func() { _ = g.Destroy() }()
		exec, err := g.Instantiate()
		if err == nil {
			recorded = &graph{d, exec, d.scratch.version}
		}
		return err
	})
	return recorded, err
}

// Launch starts the recorded work on the default stream.
func (g *graph) Launch() error {
	if g.scratch != g.d.scratch.version {
		return errors.WithStack(ErrStale)
	}
	return g.d.within(func() error { return g.exec.Launch(cu.NoStream) })
}

// Close frees the graph.
func (g *graph) Close() error { return g.d.within(g.exec.Destroy) }

// recording tells whether the Device records.
func (d *Device) recording() bool { return d.stream != cu.NoStream }

// freeRecorder destroys the recording stream, on which cuBLAS must not start anything again.
func (d *Device) freeRecorder() {
	if d.recorder == cu.NoStream {
		return
	}
	d.products.Lock()
	if d.blasStream == d.recorder {
		d.blasReady = false
	}
	d.products.Unlock()
	_ = d.recorder.Destroy()
	d.recorder = cu.NoStream
}
