package trainer

import (
	"fmt"
	"math"

	"github.com/residua-go/residua/internal/stats"
)

// spikes detects jumps of a loss: inRow losses in a row, each far above the median of the
// recent losses before it. Far above means by more than a quarter of the median, ten times the
// median absolute deviation, and 0.1 nats. A single high training loss may be due to its
// batch; a single high validation loss is not.
type spikes struct {
	what   string // name of the loss, for messages
	window int    // number of recent losses to compare with
	least  int    // fewest earlier losses to judge by
	inRow  int    // losses in a row that make a spike
	recent []float64
	above  int // high losses in a row so far
}

// newSpikes returns the detectors for the training and the validation loss.
func newSpikes() (training, validation spikes) {
	return spikes{what: "loss", window: 32, least: 8, inRow: 2}, spikes{what: "validation loss", window: 8, least: 2, inRow: 1}
}

// add takes the next loss; far tells whether it is far above those before it, and news reports a
// spike that begins.
func (s *spikes) add(step int, loss float64) (far bool, news string) {
	if math.IsNaN(loss) || math.IsInf(loss, 0) {
		return false, ""
	}
	usual := stats.Median(s.recent)
	deviations := make([]float64, len(s.recent))
	for i, x := range s.recent {
		deviations[i] = math.Abs(x - usual)
	}
	far = len(s.recent) >= s.least && loss > usual+max(usual/4, 10*stats.Median(deviations), 0.1)
	s.recent = append(s.recent, loss)
	if len(s.recent) > s.window {
		s.recent = s.recent[1:]
	}
	if s.above++; !far {
		s.above = 0
	}
	if s.above == s.inRow {
		news = fmt.Sprintf("step %d: a spike: the %s is %.4g, it was about %.4g; where it stays so, or comes again, a lower train.lr or a longer train.warmup helps",
			step, s.what, loss, usual)
	}
	return far, news
}
