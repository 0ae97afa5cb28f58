//go:build cuda

package emulator

import (
	"strconv"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/pkg/errors"
)

// Totals counts what the device has done since the last reset.
type Totals struct {
	Moved
	Launches map[string]uint64 // launches of kernels by name
}

// Moved holds the totals that the library counts itself, with the layout of its struct Totals.
type Moved struct {
	Up, Down, Copied, Filled                   uint64 // bytes: host to device, device to host, device to device, set
	Uploads, Downloads                         uint64 // calls
	Allocations, Frees                         uint64
	KernelLaunches, Products, Synchronisations uint64 // Products are calls of cuBLAS
	Contexts, Modules, Handles                 uint64 // numbers made; Handles are cuBLAS's
	Events                                     uint64 // recorded events
	InUse, Peak                                uint64 // bytes of device memory
}

// library is the open stand-in of the driver: it has functions for tests that a real driver does
// not have.
type library struct {
	totals, launches, reset, lose, failure uintptr
}

func openLibrary(path string) (*library, error) {
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, errors.Wrap(err, "the emulator")
	}
	l := &library{}
	for name, symbol := range map[string]*uintptr{
		"emulatorTotals": &l.totals, "emulatorLaunches": &l.launches, "emulatorReset": &l.reset,
		"emulatorLose": &l.lose, "emulatorFailure": &l.failure,
	} {
		if *symbol, err = purego.Dlsym(handle, name); err != nil {
			return nil, errors.Wrap(err, "the emulator")
		}
	}
	return l, nil
}

// opened returns the library, or nil on a real GPU and before a successful Use.
func opened() *library {
	if !Emulated() {
		return nil
	}
	l, err := load()
	if err != nil {
		return nil
	}
	return l
}

// Counters returns what the device has done since the last ResetCounters; nothing on a real GPU.
func Counters() Totals {
	if l := opened(); l != nil {
		return l.counters()
	}
	return Totals{}
}

// ResetCounters sets all counts to zero, and the peak of memory to what is in use.
func ResetCounters() {
	if l := opened(); l != nil {
		l.resetCounters()
	}
}

// unspecifiedFailure is CUDA_ERROR_LAUNCH_FAILED, which real devices return for most faults.
const unspecifiedFailure = 719

// LoseDevice makes every call of the driver and of cuBLAS fail from now on, as after a fault of the
// device; the returned function ends this. It also clears a kernel's error.
func LoseDevice() (restore func()) {
	l := opened()
	if l == nil {
		return func() {}
	}
	l.loseDevice()
	return l.restore
}

// Restore clears the errors of a failed kernel.
func Restore() {
	if l := opened(); l != nil {
		l.restore()
	}
}

// Failure describes what the last kernel that failed did wrong.
func Failure() string {
	if l := opened(); l != nil {
		return l.lastFailure()
	}
	return ""
}

func (l *library) counters() Totals {
	var t Totals
	purego.SyscallN(l.totals, uintptr(unsafe.Pointer(&t.Moved)))
	t.Launches = map[string]uint64{}
	for line := range strings.Lines(l.text(l.launches)) {
		name, count, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		t.Launches[name], _ = strconv.ParseUint(count, 10, 64)
	}
	return t
}

// text reads one of the library's texts.
func (l *library) text(symbol uintptr) string {
	room := make([]byte, 1<<16)
	for {
		need, _, _ := purego.SyscallN(symbol, uintptr(unsafe.Pointer(&room[0])), uintptr(len(room)))
		if int(need) <= len(room) {
			return string(room[:need])
		}
		room = make([]byte, need)
	}
}

func (l *library) resetCounters() { purego.SyscallN(l.reset) }

func (l *library) loseDevice() { purego.SyscallN(l.lose, unspecifiedFailure) }

func (l *library) restore() { purego.SyscallN(l.lose, 0) }

func (l *library) lastFailure() string { return l.text(l.failure) }
