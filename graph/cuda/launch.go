//go:build cuda

package cuda

import (
	"unsafe"

	"github.com/pkg/errors"
	"gorgonia.org/cu"
)

// kernel is a compiled kernel. Its module is loaded when a kernel of it is first launched; this may
// compile its PTX for the GPU.
type kernel struct {
	entry
	module   *loadable
	function cu.Function
	ready    bool
	static   int // entry.shared as the driver reports it
	allowed  int // bytes of dynamic shared memory
}

// loadable is a module with its state: loaded or not.
type loadable struct {
	module
	folder string // a folder that may have other code for it; "": none
	major  int    // major version of the GPU's compute capability
	handle cu.Module
	ready  bool
}

// indexKernels returns the kernels of all modules by name.
func indexKernels(folder string, major int) map[string]*kernel {
	kernels := map[string]*kernel{}
	for _, m := range modules {
		l := &loadable{module: m, folder: folder, major: major}
		for _, e := range m.entries {
			kernels[e.name] = &kernel{entry: e, module: l}
		}
	}
	return kernels
}

// Launch starts a kernel on grid. It checks the number and sizes of the arguments against the
// kernel's PTX; call Enter first.
func (d *Device) Launch(name string, grid Grid, given ...Arg) error {
	args := Args(given).appendTo(d.args[:0])
	k := d.kernels[name]
	if k == nil {
		return errors.Errorf("kernel %s: want one of the compiled kernels, got none of that name", name)
	}
	if err := k.check(grid, args); err != nil {
		return errors.Wrapf(err, "kernel %s", name)
	}
	if err := d.prepare(k, grid.Shared); err != nil {
		return errors.Wrapf(err, "kernel %s", name)
	}
	if grid.X == 0 {
		return nil
	}
	for i := range args {
		d.params[i] = unsafe.Pointer(&args[i].bits)
	}
	err := cu.LaunchRaw(k.function, grid.blocks(), cu.Dim{X: uint32(grid.Threads), Y: 1, Z: 1}, uint32(grid.Shared), d.stream, &d.params[0])
	if err == nil {
		err = d.profile.note(kernelWork(name, grid, args))
	}
	return errors.Wrapf(err, "kernel %s", name)
}

func (g Grid) blocks() cu.Dim {
	return cu.Dim{X: uint32(g.X), Y: uint32(max(1, g.Y)), Z: uint32(max(1, g.Z))}
}

// prepare loads the kernel and raises its limit of shared memory if necessary.
func (g *gpu) prepare(k *kernel, shared int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := k.load(); err != nil {
		return err
	}
	return k.allowShared(shared)
}

// load compiles the kernel's module for this GPU, once.
func (k *kernel) load() (err error) {
	if k.ready {
		return nil
	}
	if m := k.module; !m.ready {
		if err := m.load(); err != nil {
			return err
		}
		m.ready = true
	}
	if k.function, err = k.module.handle.Function(k.name); err != nil {
		return err
	}
	k.static, err = k.function.Attribute(cu.FunctionSharedSize)
	k.ready = err == nil
	return err
}

// freeShared is the shared memory, static and dynamic, that a kernel may use without raising its
// limit: 48 KB, of which a driver may keep 1 KB for itself.
const freeShared = 47 << 10

// allowShared raises the limit for a launch that needs more.
func (k *kernel) allowShared(bytes int) error {
	if k.static+bytes <= freeShared || bytes <= k.allowed {
		return nil
	}
	if err := k.function.SetMaxDynamicShared(bytes); err != nil {
		return errors.Wrapf(err, "%d bytes of shared memory, after %d of its own", bytes, k.static)
	}
	k.allowed = bytes
	return nil
}
