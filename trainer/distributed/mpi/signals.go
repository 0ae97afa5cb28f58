//go:build mpi && linux

package mpi

import (
	"syscall"
	"unsafe"

	"github.com/pkg/errors"
)

const (
	lastSignal  = 31 // the last one before the real-time signals
	sigsetBytes = 8
)

// action is the kernel's struct sigaction, whose fields do not matter here.
type action [32]byte

// keepSignals calls fn and then restores each signal's action. MPI libraries and UCX install
// signal handlers when they are loaded or initialised; with those, a nil pointer in Go would
// end the program without a panic.
func keepSignals(fn func() error) error {
	var before [lastSignal + 1]action
	for n := range before {
		// Signal 0 does not exist, so that the call fails and changes nothing.
		_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(n), 0, uintptr(unsafe.Pointer(&before[n])), sigsetBytes, 0, 0)
	}
	err := fn()
	for n := 1; n < len(before); n++ {
		if signal := syscall.Signal(n); signal == syscall.SIGKILL || signal == syscall.SIGSTOP {
			continue
		}
		if _, _, code := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(n), uintptr(unsafe.Pointer(&before[n])), 0, sigsetBytes, 0, 0); code != 0 &&
			err == nil {
			err = errors.Wrapf(code, "restoring the action of signal %d", n)
		}
	}
	return err
}
