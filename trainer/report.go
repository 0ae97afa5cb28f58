package trainer

import (
	"fmt"
	"math"
	"time"
)

// Reporter tells a person, or a script, how a run goes. Note and Warn may be called at any
// time, also before Start and after Finish.
type Reporter interface {
	// Start is called once, with the number of steps done before and the number at the end.
	Start(done, total int)
	// Step is called after each step.
	Step(m Metrics)
	// Note is called with a line of news: an evaluation, a checkpoint.
	Note(line string)
	// Warn is called with a line about something that may be wrong.
	Warn(line string)
	// Finish is called once, when no further step will come.
	Finish()
}

// MicroReporter is a Reporter that shows how far a step of several micro-batches is.
type MicroReporter interface {
	Reporter
	// Micro is called after each micro-batch of a step, with how many of them are done.
	Micro(done, of int)
}

// Silent is the Reporter that says nothing; embed it in one that needs a few of the methods.
type Silent struct{}

// Start does nothing.
func (Silent) Start(int, int) {}

// Step does nothing.
func (Silent) Step(Metrics) {}

// Note does nothing.
func (Silent) Note(string) {}

// Warn does nothing.
func (Silent) Warn(string) {}

// Finish does nothing.
func (Silent) Finish() {}

// warning is how a line of Warn is written.
func warning(line string) string { return "warning: " + line }

// pace measures how long a run has taken since Start and estimates how long it will still take.
type pace struct {
	started     time.Time
	done, total int // steps, at Start
}

func newPace(done, total int) pace { return pace{time.Now(), done, total} }

// elapsed is the time since Start.
func (p pace) elapsed() time.Duration { return time.Since(p.started) }

// times says how long the run has taken up to step and, at the mean speed so far, how long the rest
// will take: "1m20s elapsed, 3m40s left".
func (p pace) times(step int) string {
	elapsed := p.elapsed()
	text := roundTime(elapsed) + " elapsed"
	if made := step - p.done; made > 0 && step < p.total {
		text += ", " + roundTime(time.Duration(float64(elapsed)/float64(made)*float64(p.total-step))) + " left"
	}
	return text
}

// roundTime writes a duration rounded to the second, above an hour to the minute.
func roundTime(d time.Duration) string {
	if d < time.Hour {
		return d.Round(time.Second).String()
	}
	d = d.Round(time.Minute)
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// thousands writes a number with a unit prefix, "1.24 k".
func thousands(v float64) string {
	for _, unit := range []string{"", " k", " M", " G", " T"} {
		if math.Abs(v) < 999.5 { // what rounds to 1000 has the next unit
			return fmt.Sprintf("%.3g%s", v, unit)
		}
		v /= 1000
	}
	return fmt.Sprintf("%.3g P", v)
}
