package trainer

// OpenOn is Open on a disk that can fail.
var OpenOn = open

// PerSecond is perSecond.
var PerSecond = perSecond

// LossHistory is lossHistory.
type LossHistory struct{ lossHistory }

// Add takes a step.
func (h *LossHistory) Add(m Metrics) { h.add(m) }

// Points are tokens and loss of each point of the curves.
func (h *LossHistory) Points() (training, validation [][2]float64) {
	points := func(c lossCurve) (all [][2]float64) {
		for _, g := range c.groups {
			all = append(all, [2]float64{float64(g.tokens), g.mean()})
		}
		return all
	}
	return points(h.training), points(h.validation)
}

// Spikes is spikes.
type Spikes struct{ spikes }

// NewSpikes is newSpikes.
func NewSpikes() (training, validation Spikes) {
	a, b := newSpikes()
	return Spikes{a}, Spikes{b}
}

// Add takes a loss.
func (s *Spikes) Add(step int, loss float64) (far bool, news string) { return s.add(step, loss) }
