//go:build cuda

package emulator

import (
	"strconv"
	"strings"
	"time"

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
	KernelLaunches, Products, Synchronisations uint64    // Products are calls of cuBLAS
	Contexts, Modules, Handles                 uint64    // numbers made; Handles are cuBLAS's
	Events                                     uint64    // recorded events
	Graphs                                     uint64    // launched graphs; what is in them is counted at each launch
	Choices                                    uint64    // calls in which cuBLASLt proposed algorithms
	Algorithms                                 [9]uint64 // products by their algorithm: cuBLAS's own, then cuBLASLt's
	InUse, Peak                                uint64    // bytes of device memory
}

// library is the open stand-in of the driver: its functions for tests, which a real driver does not
// have.
type library struct {
	totals            func(*Moved)
	launches, failure func(text *byte, room uint64) (needed uint64)
	reset             func()
	lose              func(failure int32)
	delay             func(algorithm int32, milliseconds float64)
}

func openLibrary(path string) (*library, error) {
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, errors.Wrap(err, "the emulator")
	}
	l := &library{}
	for name, function := range map[string]any{
		"emulatorTotals": &l.totals, "emulatorLaunches": &l.launches, "emulatorReset": &l.reset,
		"emulatorLose": &l.lose, "emulatorFailure": &l.failure, "emulatorDelay": &l.delay,
	} {
		purego.RegisterLibFunc(function, handle, name)
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
func Counters() (t Totals) {
	if l := opened(); l != nil {
		l.totals(&t.Moved)
		t.Launches = map[string]uint64{}
		for line := range strings.Lines(text(l.launches)) {
			name, count, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			t.Launches[name], _ = strconv.ParseUint(count, 10, 64)
		}
	}
	return t
}

// text reads one of the library's texts.
func text(read func(text *byte, room uint64) (needed uint64)) string {
	room := make([]byte, 1<<16)
	for {
		need := read(&room[0], uint64(len(room)))
		if need <= uint64(len(room)) {
			return string(room[:need])
		}
		room = make([]byte, need)
	}
}

// ResetCounters sets all counts to zero, and the peak of memory to what is in use.
func ResetCounters() {
	if l := opened(); l != nil {
		l.reset()
	}
}

// Delay makes products take longer on the device's clock, which events read, by their algorithm:
// cuBLAS's own, then cuBLASLt's. No time passes. Delay() undoes it.
func Delay(products ...time.Duration) {
	if l := opened(); l != nil {
		for i := range (Moved{}).Algorithms {
			milliseconds := 0.0
			if i < len(products) {
				milliseconds = products[i].Seconds() * 1000
			}
			l.delay(int32(i), milliseconds)
		}
	}
}

// unspecifiedFailure is CUDA_ERROR_LAUNCH_FAILED, which real devices return for most faults.
const unspecifiedFailure = 719

// LoseDevice makes every call of the driver and of cuBLAS fail from now on, as after a fault of the
// device, until Restore.
func LoseDevice() (restore func()) {
	if l := opened(); l != nil {
		l.lose(unspecifiedFailure)
	}
	return Restore
}

// Restore undoes LoseDevice, and clears the errors of a failed kernel.
func Restore() {
	if l := opened(); l != nil {
		l.lose(0)
	}
}

// Failure describes what the last kernel that failed did wrong.
func Failure() string {
	if l := opened(); l != nil {
		return text(l.failure)
	}
	return ""
}
