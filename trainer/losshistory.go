package trainer

import (
	"math"

	"github.com/residua-go/residua/eval"
)

// curvePoints bounds what is kept of a curve; when there are as many, every two become one.
const curvePoints = 2048

// lossHistory is the loss of a run for loss.svg. It depends on nothing but the steps: a resumed run has the same.
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

// lossCurve is losses in memory that does not grow with the run: means over groups of them.
type lossCurve struct {
	groups []group
	size   int // losses of a group
}

// group is some losses, in nats a token, that follow one another.
type group struct {
	tokens int64   // after the last
	sum    float64 // of the finite losses
	finite int     // of them
	losses int
}

// mean is NaN where no loss was finite.
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

// isFull tells whether the next loss begins a group.
func (c *lossCurve) isFull() bool {
	n := len(c.groups)
	return n == 0 || c.groups[n-1].losses == c.size
}

// halve makes one group of every two.
func (c *lossCurve) halve() {
	for i := range len(c.groups) / 2 {
		a, b := c.groups[2*i], c.groups[2*i+1]
		c.groups[i] = group{b.tokens, a.sum + b.sum, a.finite + b.finite, a.losses + b.losses}
	}
	c.groups = c.groups[:len(c.groups)/2]
	c.size *= 2
}
