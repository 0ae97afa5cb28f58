package distributed

import (
	"syscall"
	"time"
)

// sleep blocks the OS thread. time.Sleep would sleep for a millisecond where the process has
// nothing else to do.
func sleep(d time.Duration) {
	t := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&t, nil) // woken early by a signal: the caller polls again
}
