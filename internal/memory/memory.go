// Package memory tells how much of the machine's memory is available.
package memory

import (
	"math"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/shirou/gopsutil/v4/mem"
)

// Available returns how many bytes of memory can still be allocated, including swap and limited by
// the process's control group. It returns math.MaxInt if the system does not tell.
func Available() int {
	available := uint64(math.MaxInt)
	if m, err := mem.VirtualMemory(); err == nil {
		available = m.Available
		if swap, err := mem.SwapMemory(); err == nil {
			available += swap.Free
		}
	}
	if limit, err := memlimit.FromCgroup(); err == nil && limit > 0 {
		available = min(available, limit)
	}
	return int(min(available, math.MaxInt))
}
