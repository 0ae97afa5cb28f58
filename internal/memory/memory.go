// Package memory tells how much of the machine's memory is available.
package memory

import (
	"math"
	"sync"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/shirou/gopsutil/v4/mem"
)

// groupLimit returns the limit of the process's control group. It is read once, because finding it
// takes longer than all else that Available does.
var groupLimit = sync.OnceValues(memlimit.FromCgroup)

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
	if limit, err := groupLimit(); err == nil && limit > 0 {
		available = min(available, limit)
	}
	return int(min(available, math.MaxInt))
}
