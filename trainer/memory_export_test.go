package trainer

import (
	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/graph"
)

// Fits compares a run with some available memory.
func Fits(run *config.Run, available int) error { return fits(run, available) }

// MemoryNeed is what a run takes at least.
func MemoryNeed(run *config.Run) graph.MemoryNeed { return run.MemoryNeed(run.Spec()) }
