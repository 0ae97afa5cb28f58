package optest

import (
	"runtime"
)

// AllocatedBy returns the bytes that f allocates, garbage included.
func AllocatedBy(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}
