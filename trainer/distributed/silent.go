package distributed

import (
	"fmt"
	"time"
)

// SilentError says that a rank has not sent its heartbeats for longer than Options.Timeout, while
// this rank waited for a collective.
type SilentError struct {
	Rank  int
	Host  string        // "" before the ranks have told each other
	PID   int           // the process on Host
	What  string        // the collective
	Since time.Duration // for how long
}

// Error names the rank, its process and the collective.
func (e *SilentError) Error() string {
	process := ""
	if e.Host != "" {
		process = fmt.Sprintf(" (process %d on host %s)", e.PID, e.Host)
	}
	return fmt.Sprintf("rank %d%s has been silent for %v while this rank waited for %q: it has died, was stopped or lost its network; start the job "+
		"again and resume from the last checkpoint",
		e.Rank, process, e.Since.Round(100*time.Millisecond), e.What)
}
