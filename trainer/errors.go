package trainer

import (
	"fmt"

	"github.com/pkg/errors"
)

// RunExistsError is returned by Open if the folder already holds a run and Options.Resume does not
// say to go on with it.
type RunExistsError struct{ Out string }

// Error names the folder and what to do.
func (e *RunExistsError) Error() string {
	return fmt.Sprintf("out: %s already holds a run: go on with -resume auto, or choose another folder with -out", e.Out)
}

// ResumeError is returned by Open if the run cannot go on from a checkpoint.
type ResumeError struct {
	Key     string // the config key that does not fit: model, data, seed, train.batch, out (another run) ...
	Problem string // what was wanted and what was found, and the likely fix
}

// Error returns the problem, which names the key.
func (e *ResumeError) Error() string { return e.Problem }

// cannotResume makes a ResumeError.
func cannotResume(key, format string, args ...any) error {
	return errors.WithStack(&ResumeError{Key: key, Problem: fmt.Sprintf(format, args...)})
}

// FolderError is returned by Run if the run's folder has disappeared or been replaced.
type FolderError struct {
	Out      string
	Replaced bool // another folder has its name; otherwise there is none
}

// Error tells whether the folder is gone or replaced.
func (e *FolderError) Error() string {
	if e.Replaced {
		return fmt.Sprintf("out: %s is not the folder any more that the run began to write into", e.Out)
	}
	return fmt.Sprintf("out: %s was moved or removed while the run wrote into it", e.Out)
}

// DivergedError is returned by Run after train.max_bad_steps steps in a row had a loss or
// gradient that was not finite.
type DivergedError struct {
	Step           int     // the last bad step
	Loss, GradNorm float64 // of the last bad step
	InRow          int     // how many bad steps there were in a row
	Good           string  // folder of the newest checkpoint from before the bad steps; "": there is none
}

// Error names the checkpoint from which the run can go on.
func (e *DivergedError) Error() string {
	good := "there is no checkpoint from before"
	if e.Good != "" {
		good = "go on from the last good checkpoint with -resume " + e.Good
	}
	return fmt.Sprintf("step %d: loss %g, gradient norm %g: not finite for %d steps in a row (train.max_bad_steps): take a lower train.lr or a longer "+
		"train.warmup; %s, or train again into another folder (-out)",
		e.Step, e.Loss, e.GradNorm, e.InRow, good)
}
