package kernel

import "golang.org/x/sys/unix"

// hasBFloat16 tells whether the processor multiplies bfloat16 (FEAT_BF16).
func hasBFloat16() bool {
	has, err := unix.SysctlUint32("hw.optional.arm.FEAT_BF16")
	return err == nil && has == 1
}
