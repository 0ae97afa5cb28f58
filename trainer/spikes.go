package trainer

import (
	"fmt"
	"math"
	"slices"
)

// spikes tells when losses jump: several in a row are far above the median of those before them: by a quarter of it, by ten
// times the median distance from it, and by a tenth of a nat. One loss of a batch may be the batch's own; one on the validation text is not.
type spikes struct {
	what   string // is the loss
	window int    // of losses, the newest
	least  int    // so many of them are needed to judge
	inRow  int    // so many are a spike
	recent []float64
	above  int // so many in a row are, by now
}

// newSpikes are those of the training loss, and of the validation loss.
func newSpikes() (training, validation spikes) {
	return spikes{what: "loss", window: 32, least: 8, inRow: 2}, spikes{what: "validation loss", window: 8, least: 2, inRow: 1}
}

// add takes the next loss; far tells whether it is far above those before it, and news is about a spike that begins.
func (s *spikes) add(step int, loss float64) (far bool, news string) {
	if math.IsNaN(loss) || math.IsInf(loss, 0) {
		return false, ""
	}
	usual := median(s.recent)
	deviations := make([]float64, len(s.recent))
	for i, x := range s.recent {
		deviations[i] = math.Abs(x - usual)
	}
	far = len(s.recent) >= s.least && loss > usual+max(usual/4, 10*median(deviations), 0.1)
	s.recent = append(s.recent, loss)
	if len(s.recent) > s.window {
		s.recent = s.recent[1:]
	}
	if s.above++; !far {
		s.above = 0
	}
	if s.above == s.inRow {
		news = fmt.Sprintf("step %d: a spike: the %s is %.4g, it was about %.4g; where it stays so, or comes again, a lower train.lr or a longer train.warmup helps", step, s.what, loss, usual)
	}
	return far, news
}

// median is that of numbers, 0 of none.
func median(of []float64) float64 {
	if len(of) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(of))
	return (sorted[(len(of)-1)/2] + sorted[len(of)/2]) / 2
}
