package trainer

import "time"

// SetLinesInterval sets how often Lines writes.
func SetLinesInterval(l *Lines, d time.Duration) { l.interval = d }

// AgeLines lets d pass for a Lines.
func AgeLines(l *Lines, d time.Duration) { l.pace.started = l.pace.started.Add(-d) }
