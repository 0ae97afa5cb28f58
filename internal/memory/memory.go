// Package memory tells how much of the machine's memory can be taken.
package memory

import (
	"math"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/shirou/gopsutil/v4/mem"
)

// Available returns how many bytes of the machine's memory can still be taken, swap
// included and no more than the process's control group may have; math.MaxInt where the
// system does not tell.
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
