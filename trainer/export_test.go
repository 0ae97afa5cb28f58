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
	c := h.curves()
	for _, p := range c.training {
		training = append(training, [2]float64{float64(p.tokens), p.loss})
	}
	for _, p := range c.validation {
		validation = append(validation, [2]float64{float64(p.tokens), p.loss})
	}
	return training, validation
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
