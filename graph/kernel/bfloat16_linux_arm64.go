package kernel

import "golang.org/x/sys/unix"

// hasBFloat16 tells whether the processor multiplies bfloat16 (FEAT_BF16), by Linux's HWCAP2.
func hasBFloat16() bool {
	const (
		hwcap2 = 26 // AT_HWCAP2
		bf16   = 1 << 14
	)
	vector, err := unix.Auxv()
	if err != nil {
		return false
	}
	for _, entry := range vector {
		if entry[0] == hwcap2 {
			return entry[1]&bf16 != 0
		}
	}
	return false
}
