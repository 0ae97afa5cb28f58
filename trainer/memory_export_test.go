package trainer

import "github.com/residua-go/residua/config"

// Fits compares a run with some available memory.
func Fits(run *config.Run, available int) error { return fits(run, available) }
