package trainer

import (
	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/graph"
)

// Fits checks whether a run fits in the available memory.
func Fits(run *config.Run, available int) error { return fits(run, available) }

// MemoryNeed returns a lower bound of the memory that a run takes.
func MemoryNeed(run *config.Run) graph.MemoryNeed { return run.MemoryNeed(run.Spec()) }
