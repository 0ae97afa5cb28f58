//go:build !linux && !darwin

package kernel

// hasBFloat16 tells whether the processor multiplies bfloat16: nothing asks this system.
func hasBFloat16() bool { return false }
