package cu

import (
	"strconv"
	"unsafe"

	"github.com/pkg/errors"
)

// Result is a CUresult, which a function of the driver returned. As an error it is never zero.
type Result int32

// The results that callers use by name.
const (
	InvalidValue Result = 1
	OutOfMemory  Result = 2
	NoDevice     Result = 100
	NotFound     Result = 500
)

// The results of calls that a stream's capture does not allow.
const (
	CaptureUnsupported Result = 900 // the call cannot be recorded
	CaptureInvalidated Result = 901 // an earlier call was not allowed
	CaptureImplicit    Result = 906 // of the default stream, which the capturing one waits for
	CapturedEvent      Result = 907 // of an event that was recorded in a capturing stream
)

// The results after which the context is lost. A kernel runs after its launch has returned, so the
// call that reports one is usually not the one that caused it.
const (
	illegalAddress       Result = 700
	launchTimeout        Result = 702
	hardwareStackError   Result = 714
	illegalInstruction   Result = 715
	misalignedAddress    Result = 716
	invalidAddressSpace  Result = 717
	invalidProgramCursor Result = 718
	launchFailed         Result = 719
)

// notReady is the result of asking for what is not done yet.
const notReady Result = 600

// unsupportedPTX is the result of loading kernels that are too new for the driver.
const unsupportedPTX Result = 222

// Error returns CUDA's name for the result, as in CUDA_ERROR_OUT_OF_MEMORY.
func (r Result) Error() string {
	name := r.name()
	switch r {
	case illegalAddress, launchTimeout, hardwareStackError, illegalInstruction,
		misalignedAddress, invalidAddressSpace, invalidProgramCursor, launchFailed:
		return name + " (by a kernel launched before; CUDA_LAUNCH_BLOCKING=1 in the environment shows which)"
	case unsupportedPTX:
		return name + " (the kernels were compiled by a newer CUDA than the driver offers: update NVIDIA's driver)"
	}
	return name
}

// name asks the driver for the result's name.
func (r Result) name() string {
	if d, err := load(); err == nil {
		return d.resultName(r)
	}
	return "CUresult " + strconv.Itoa(int(r))
}

func (d *driver) resultName(r Result) string {
	var name *byte
	if d.getErrorName.Call(uintptr(r), uintptr(unsafe.Pointer(&name))) != 0 || name == nil {
		return "CUresult " + strconv.Itoa(int(r))
	}
	return goString(name)
}

// goString copies a C string into a Go string.
func goString(c *byte) string {
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(c), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(c, n))
}

// cString returns s with a zero byte at its end, as a C string.
func cString(s string) *byte {
	return unsafe.SliceData(append([]byte(s), 0))
}

// failed returns an error that says what was being done when the driver returned r.
func failed(r Result, format string, args ...any) error {
	return errors.Wrapf(r, format, args...)
}
