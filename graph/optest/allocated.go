package optest

import (
	"runtime"
)

// AllocatedBy returns the number of bytes that f allocates, garbage included.
func AllocatedBy(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}
