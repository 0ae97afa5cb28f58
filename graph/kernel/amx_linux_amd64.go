package kernel

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/cpu"
)

// tilesMissing says why products of bfloat16 do not use AMX, or is empty if they do.
var tilesMissing = requestTiles()

// requestTiles looks whether the processor has AMX for bfloat16 and the system saves its state
// (bits 17 and 18 of XCR0), and asks Linux for the permission to use it. The permission is the
// process's: it holds for all threads and for children by fork, and is lost by exec. Linux refuses
// it if a thread has a signal stack too small for tiles; only a thread of C code can have one.
func requestTiles() (missing string) {
	const (
		states        = 1<<17 | 1<<18
		archPrctl     = 158
		requestState  = 0x1023
		stateTileData = 18
	)
	switch {
	case !cpu.X86.HasAMXBF16 || !cpu.X86.HasAMXTile:
		return "the processor has none, or GODEBUG switches it off"
	case machinePath != avx512 || !cpu.X86.HasAVX512BF16 || !cpu.X86.HasAVX512BW:
		return "the machine lacks AVX-512 with bfloat16, or GODEBUG switches it off"
	case savedStates()&states != states:
		return "the system does not save tiles"
	}
	if _, _, err := syscall.RawSyscall(archPrctl, requestState, stateTileData, 0); err != 0 {
		return fmt.Sprintf("Linux gives no permission: %v", err)
	}
	return ""
}

// savedStates returns the lower half of XCR0.
func savedStates() uint32
