//go:build cuda

package cuda

import (
	"github.com/pkg/errors"
	"gorgonia.org/cu"
)

// capture is what a Device needs to record work as a CUDA graph.
type capture struct {
	stream    cu.Stream // a stream that only records; the zero Stream before the first recording
	workspace Array     // cuBLAS must not take memory while it is recorded
}

// errRecording is returned by what cannot be part of a graph.
var errRecording = errors.New("want kernels, products and copies on the device while work is recorded, got a copy from or to the host")

// graph is recorded work.
type graph struct {
	d       *Device
	exec    cu.GraphExec
	scratch int // version of the scratch memory that it uses
}

// Capture records what f starts as a CUDA graph, on a stream that does not wait for the default
// one.
func (d *Device) Capture(f func() error) (Replay, error) {
	before := d.scratch.version
	if err := d.begin(); err != nil {
		return nil, errors.Wrap(err, "recording")
	}
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

// begin makes the Device start its work on the recording stream.
func (d *Device) begin() (err error) {
	c := &d.capture
	if c.workspace.None() {
		if c.workspace, err = d.Alloc(F32, MatmulWorkspace/F32.Size()); err != nil {
			return err
		}
	}
	return d.within(func() (err error) {
		if c.stream == cu.NoStream {
			if c.stream, err = cu.NewStream(cu.StreamNonBlocking); err != nil {
				return err
			}
		}
		if err = c.stream.BeginCapture(); err == nil {
			d.stream = c.stream
		}
		return err
	})
}

// end makes the Device, and cuBLAS, start their work on the default stream again.
func (d *Device) end() (recorded *graph, err error) {
	d.stream = cu.NoStream
	err = d.within(func() error {
		handle, err := d.handle()
		if err != nil {
			return err
		}
		d.products.Lock()
		err = d.follow(handle)
		d.products.Unlock()
		if err != nil {
			return err
		}
		g, err := d.capture.stream.EndCapture()
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

// free frees the stream and the workspace.
func (c *capture) free(d *Device) {
	d.Free(c.workspace)
	c.workspace = Array{}
	if c.stream != cu.NoStream {
		_ = c.stream.Destroy()
		c.stream = cu.NoStream
	}
}
