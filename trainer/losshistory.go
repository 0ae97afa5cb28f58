package trainer

import (
	"math"

	"github.com/residua-go/residua/eval"
)

// curvePoints limits the number of points kept of a curve. At the limit, neighbouring points
// are merged in pairs.
const curvePoints = 2048

// lossHistory keeps the losses of a run for loss.svg. It depends on the steps alone, so that a
// resumed run draws the same picture.
type lossHistory struct{ training, validation lossCurve }

// add takes the next step.
func (h *lossHistory) add(m Metrics) {
	loss := float64(m.Loss)
	if m.Skipped {
		loss = math.NaN()
	}
	h.training.add(m.Tokens, loss)
	if m.ValLoss != nil {
		h.validation.add(m.Tokens, float64(*m.ValLoss))
	}
}

// lossCurve keeps a curve in bounded memory, as the means of groups of consecutive losses.
type lossCurve struct {
	groups []group
	size   int // losses in a full group
}

// group sums losses, in nats a token, of consecutive steps.
type group struct {
	tokens int64   // seen after the last step of the group
	sum    float64 // of the finite losses
	finite int     // number of finite losses
	losses int
}

// mean returns the mean of the finite losses, NaN if there is none.
func (g group) mean() float64 { return g.sum / float64(g.finite) }

func (c *lossCurve) add(tokens int64, loss float64) {
	c.size = max(1, c.size)
	if len(c.groups) == curvePoints && c.isFull() {
		c.halve()
	}
	if c.isFull() {
		c.groups = append(c.groups, group{})
	}
	g := &c.groups[len(c.groups)-1]
	g.tokens, g.losses = tokens, g.losses+1
	if eval.Number(loss).Finite() {
		g.sum += loss
		g.finite++
	}
}

// isFull tells whether the next loss starts a new group.
func (c *lossCurve) isFull() bool {
	n := len(c.groups)
	return n == 0 || c.groups[n-1].losses == c.size
}

// halve merges neighbouring groups in pairs.
func (c *lossCurve) halve() {
	for i := range len(c.groups) / 2 {
		a, b := c.groups[2*i], c.groups[2*i+1]
		c.groups[i] = group{b.tokens, a.sum + b.sum, a.finite + b.finite, a.losses + b.losses}
	}
	c.groups = c.groups[:len(c.groups)/2]
	c.size *= 2
}
