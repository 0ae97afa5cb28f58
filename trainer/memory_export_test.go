package trainer

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/runconfig"
)

// Fits checks whether a run fits in the available memory.
func Fits(run *runconfig.Run, available int) error { return fits(run, available) }

// MemoryNeed returns a lower bound of the memory that a run takes.
func MemoryNeed(run *runconfig.Run) graph.MemoryNeed { return run.MemoryNeed(run.Spec()) }
