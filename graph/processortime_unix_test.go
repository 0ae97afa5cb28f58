//go:build unix

package graph_test

import (
	"syscall"
	"time"
)

// processorTime returns how long processors have worked for this process.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
