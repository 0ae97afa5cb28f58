package trainer

import "math"

// curvePoints bounds what is kept of each curve; when there are as many, every two become
// one.
const curvePoints = 2048

// lossHistory is the loss of a run for loss.svg, in memory that does not grow with the run:
// training loss averaged over groups of steps, validation loss thinned out where it is long.
// It depends on nothing but the steps: a resumed run has the same.
type lossHistory struct {
	groups []group
	size   int // steps of a group
	val    []lossPoint
	every  int       // of so many validation losses, one is kept
	scored int       // validation losses
	newest lossPoint // of them
}

// group is some steps that follow one another.
type group struct {
	tokens int64   // after the last
	sum    float64 // of the finite losses
	finite int     // of them
	steps  int
}

// add takes the next step.
func (h *lossHistory) add(m Metrics) {
	h.addStep(m)
	if m.ValLoss != nil {
		h.addScore(lossPoint{m.Tokens, float64(*m.ValLoss)})
	}
}

func (h *lossHistory) addStep(m Metrics) {
	h.size = max(1, h.size)
	n := len(h.groups)
	if n == curvePoints && h.groups[n-1].steps == h.size {
		h.halve()
		n = len(h.groups)
	}
	if n == 0 || h.groups[n-1].steps == h.size {
		h.groups = append(h.groups, group{})
		n++
	}
	g := &h.groups[n-1]
	g.tokens, g.steps = m.Tokens, g.steps+1
	if loss := float64(m.Loss); !m.Skipped && !math.IsNaN(loss) && !math.IsInf(loss, 0) {
		g.sum += loss
		g.finite++
	}
}

// halve makes one group of every two.
func (h *lossHistory) halve() {
	for i := range len(h.groups) / 2 {
		a, b := h.groups[2*i], h.groups[2*i+1]
		h.groups[i] = group{b.tokens, a.sum + b.sum, a.finite + b.finite, a.steps + b.steps}
	}
	h.groups = h.groups[:len(h.groups)/2]
	h.size *= 2
}

func (h *lossHistory) addScore(p lossPoint) {
	h.every = max(1, h.every)
	if len(h.val) == curvePoints {
		for i := range curvePoints / 2 {
			h.val[i] = h.val[2*i]
		}
		h.val, h.every = h.val[:curvePoints/2], 2*h.every
	}
	if h.scored%h.every == 0 {
		h.val = append(h.val, p)
	}
	h.newest = p
	h.scored++
}

// curves are the curves for loss.svg. The newest validation loss is always there.
func (h *lossHistory) curves() lossCurves {
	var c lossCurves
	for _, g := range h.groups {
		c.training = append(c.training, lossPoint{g.tokens, g.sum / float64(g.finite)})
	}
	c.validation = append(c.validation, h.val...)
	if n := len(h.val); n > 0 && h.val[n-1] != h.newest {
		c.validation = append(c.validation, h.newest)
	}
	return c
}
