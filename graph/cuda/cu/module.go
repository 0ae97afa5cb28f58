package cu

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"unsafe"
)

// Module is loaded code, which holds kernels.
type Module struct{ handle uintptr }

// Function is a kernel of a module.
type Function struct {
	handle uintptr
	name   string
}

// The options of cuModuleLoadDataEx.
const (
	jitErrorLogBuffer     = 5
	jitErrorLogBufferSize = 6
)

// jitLogSize is the number of bytes that are kept of the compiler's log.
const jitLogSize = 16 << 10

// LoadData loads PTX, which the driver compiles for the GPU, or compiled code. Its error ends with
// the compiler's log.
func LoadData(image string) (Module, error) {
	var (
		m       Module
		pinner  runtime.Pinner
		code    = cString(image)
		log     = make([]byte, jitLogSize)
		options = &[...]int32{jitErrorLogBuffer, jitErrorLogBufferSize}
	)
	defer pinner.Unpin()
	pinner.Pin(&log[0])
	values := &[...]uintptr{uintptr(unsafe.Pointer(&log[0])), jitLogSize}
	err := anyThread("loading a module of kernels", func(d *driver) uintptr {
		return d.moduleLoadDataEx.Call(uintptr(unsafe.Pointer(&m.handle)), uintptr(unsafe.Pointer(code)),
			uintptr(len(options)), uintptr(unsafe.Pointer(options)), uintptr(unsafe.Pointer(values)))
	})
	if text, _, _ := bytes.Cut(log, []byte{0}); err != nil && len(text) > 0 {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(text)))
	}
	return m, err
}

// Unload unloads the module; its functions cannot be used any more.
func (m Module) Unload() error {
	return anyThread("unloading a module of kernels", func(d *driver) uintptr { return d.moduleUnload.Call(m.handle) })
}

// Function returns the module's kernel with this name.
func (m Module) Function(name string) (Function, error) {
	f, c := Function{name: name}, cString(name)
	err := anyThread("looking for kernel "+name, func(d *driver) uintptr {
		return d.moduleGetFunction.Call(uintptr(unsafe.Pointer(&f.handle)), m.handle, uintptr(unsafe.Pointer(c)))
	})
	return f, err
}
