//go:build cuda

package emulator

import (
	"strconv"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/pkg/errors"
)

// Totals is what the device has done since the last reset.
type Totals struct {
	Moved
	Launches map[string]uint64 // of kernels, by name
}

// Moved are the totals that the library counts itself, laid out as its struct Totals.
type Moved struct {
	Up, Down, Copied, Filled                   uint64 // bytes: host to device, device to host, device to device, set
	Uploads, Downloads                         uint64 // calls
	Allocations, Frees                         uint64
	KernelLaunches, Products, Synchronisations uint64 // products: calls of cuBLAS
	Contexts, Modules, Handles                 uint64 // that were made; handles are cuBLAS's
	Events                                     uint64 // that were recorded
	InUse, Peak                                uint64 // bytes of device memory
}

// library is the stand-in of the driver, opened: what it offers to tests that a real driver does not have.
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

// opened is the library, or nil on a real GPU and before a successful Use.
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

// unspecifiedFailure is CUDA_ERROR_LAUNCH_FAILED, which real devices give for most of what goes wrong.
const unspecifiedFailure = 719

// LoseDevice makes every call of the driver and of cuBLAS fail from now on, as after a fault of the device; the returned
// function ends that. A kernel's error is ended by it, too.
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

// Failure says what the last kernel that failed did wrong.
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
