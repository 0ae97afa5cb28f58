package trainer

import "fmt"

const (
	zeroGradients = 3   // steps in a row with a gradient of 0 after which a run is stuck
	guesses       = 100 // least number of steps in a row with the loss of guessing
)

// stuck detects that a run no longer learns: its gradient is 0, or its loss stays at the loss of
// guessing.
type stuck struct {
	vocab    int
	patience int // steps in a row with the loss of guessing after which the run is stuck
	zero     int // steps in a row, so far, whose gradient is 0
	guessing int // steps in a row, so far, with the loss of guessing
}

// newStuck returns the detector for a run. The loss may stay at the loss of guessing for a tenth of
// the run's steps, or 100 steps if that is more.
func newStuck(vocab, steps int) stuck { return stuck{vocab: vocab, patience: max(guesses, steps/10)} }

// add takes the next step; news reports a collapse that begins.
func (s *stuck) add(m Metrics) (news string) {
	loss := float64(m.Loss)
	s.zero++
	if !Collapsed(loss, float64(m.GradNorm), s.vocab) {
		s.zero = 0
	}
	s.guessing++
	if Learned(loss, s.vocab) || Diverged(loss, s.vocab) {
		s.guessing = 0
	}
	const hint = "a lower train.lr or a longer train.warmup helps"
	switch {
	case s.zero == zeroGradients:
		return fmt.Sprintf("step %d: collapsed: the gradient has been 0 for %d steps, and the loss, %.4g, is no better than that of guessing: nothing is "+
			"learned any more; stop the run: %s", m.Step, s.zero, loss, hint)
	case s.guessing == s.patience && s.zero < zeroGradients:
		return fmt.Sprintf("step %d: nothing is learned: for %d steps the loss, now %.4g, has been no better than that of guessing, %.4g; %s, a higher "+
			"train.lr where it never fell", m.Step, s.guessing, loss, UniformLoss(s.vocab), hint)
	}
	return ""
}

// now tells whether the run is stuck.
func (s *stuck) now() bool { return s.zero >= zeroGradients || s.guessing >= s.patience }
