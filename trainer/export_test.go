package trainer

import "github.com/residua-go/residua/eval"

// OpenOn does what Open does, on a disk that can fail.
var OpenOn = open

// PerSecond exports perSecond.
var PerSecond = perSecond

// LossHistory exports lossHistory.
type LossHistory struct{ lossHistory }

// Add adds a step.
func (h *LossHistory) Add(m Metrics) { h.add(m) }

// Points returns tokens and loss of each point of the curves.
func (h *LossHistory) Points() (training, validation [][2]float64) {
	points := func(c lossCurve) (all [][2]float64) {
		for _, g := range c.groups {
			all = append(all, [2]float64{float64(g.tokens), g.mean()})
		}
		return all
	}
	return points(h.training), points(h.validation)
}

// Spikes exports spikes.
type Spikes struct{ spikes }

// NewSpikes exports newSpikes.
func NewSpikes() (training, validation Spikes) {
	a, b := newSpikes()
	return Spikes{a}, Spikes{b}
}

// Add adds a loss.
func (s *Spikes) Add(step int, loss float64) (far bool, news string) { return s.add(step, loss) }

// CountSpikes returns how many spikes a run of these losses, a step each, tells of at its end, and
// where the last began.
func CountSpikes(losses ...float64) (spikes, last int) {
	l := newMetricsLog(256, len(losses))
	for i, loss := range losses {
		l.count(&Metrics{Step: i, Loss: eval.Number(loss)})
	}
	return l.spikes, l.lastSpike
}

// Stuck exports stuck.
type Stuck struct{ stuck }

// NewStuck exports newStuck.
func NewStuck(vocab, steps int) Stuck { return Stuck{newStuck(vocab, steps)} }

// Add adds the next step.
func (s *Stuck) Add(m Metrics) (news string) { return s.add(m) }

// Now tells whether the run is stuck.
func (s *Stuck) Now() bool { return s.now() }
