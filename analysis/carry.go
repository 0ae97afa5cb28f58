package analysis

import (
	"fmt"
	"math/rand/v2"

	"github.com/pkg/errors"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/analysis/cache"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// carrier tells what becomes of a write on its way to a read. With what a run made of its
// input held (stream.Held), a term y that is written at site i for token t comes to what site
// j reads as y M_t, and M is the mean of M_t over the tokens of the run:
//
//	vector, highway, matrix   M = I, whatever the run
//	hyper, mhc, mhc-lite      M = a I, a = mean of A_down^T A_res ... A_res B_up, a number a token
//	vwn                       M = A (x) I_d, A [p, q] the mean of the same product, from p slots to q
//	hieragg                   M = a C diag(g_1) C diag(g_2) ..., the aggregates on the way, a the mean
//	                          of the products of their 1/sigma and of how often the term is added up
//
// Without a run the coefficients are those of a plain residual: a = 1, and slot k mod m of what
// sites read and write is slot k of the virtual width network's stream, as it starts.
type carrier struct {
	f    *Folded
	held *stream.Held // nil: no run, or nothing that depends on one
	seen map[[2]string]rowMaps
}

func newCarrier(f *Folded, run *cache.Cache) (*carrier, error) {
	c := &carrier{f: f, seen: map[[2]string]rowMaps{}}
	if run == nil {
		return c, nil
	}
	if err := run.Model().Config().SameModel(f.c); err != nil {
		return nil, errors.Wrap(err, "analysis: want a run of the same model")
	}
	switch f.c.Stream {
	case models.StreamVector, models.StreamHighway, models.StreamMatrix:
		return c, nil
	}
	additive, err := additiveStream(run.Model())
	if err != nil {
		return nil, err
	}
	c.held, err = additive.Hold(run)
	return c, err
}

// between is M of a write and a read behind it.
func (c *carrier) between(w, r end) (rowMaps, error) {
	key := [2]string{w.site, r.site}
	if maps, known := c.seen[key]; known {
		return maps, nil
	}
	maps := c.fixed(w, r)
	mix := c.plain(w, r)
	if c.held != nil {
		var err error
		if mix, err = c.mean(w, r, maps); err != nil {
			return nil, err
		}
	}
	if mix != nil {
		maps = append(maps, slotRows{mix, c.f.slotWidth()})
	}
	c.seen[key] = maps
	return maps, nil
}

// fixed is the part of M that no run changes.
func (c *carrier) fixed(w, r end) rowMaps {
	var maps rowMaps
	f := c.f
	switch {
	case f.c.Stream == models.StreamVWN && w.at == 0 && f.c.ExpandEmbedding:
		maps = append(maps, matrixRows{f.dense("expand", f.c.DModel)})
	case f.c.Stream == models.StreamHierAgg:
		for l := stream.HieraggGroup - 1; l < f.c.Layers; l += stream.HieraggGroup {
			if at := aggregateAt(l); w.at <= at && at < r.at {
				maps = append(maps, f.norm(f.aggregateNorm(l)))
			}
		}
	}
	return maps
}

// aggregateNorm is the name of the norm of the aggregate behind a block.
func (f *Folded) aggregateNorm(layer int) string {
	if f.c.SeparateAggregates {
		return fmt.Sprintf("blocks.%d.aggregate.norm", layer)
	}
	return "aggregate.norm"
}

// slotWidth is d of a virtual width network; else D, one slot.
func (f *Folded) slotWidth() int {
	if f.c.Stream == models.StreamVWN {
		return f.c.DModel / f.c.M
	}
	return f.streamWidth()
}

// slots are the numbers of slots that a write and a read have.
func (c *carrier) slots(w, r end) (p, q int) {
	if c.f.c.Stream != models.StreamVWN {
		return 1, 1
	}
	p, q = c.f.c.M, c.f.c.M
	if w.at == 0 {
		p = c.f.c.N
	}
	if r.site == unembeddingSite {
		q = c.f.c.N
	}
	return p, q
}

// plain is A [p, q] of a plain residual; nil is the identity.
func (c *carrier) plain(w, r end) *mat.Dense {
	p, q := c.slots(w, r)
	if p == q {
		return nil
	}
	mix := mat.NewDense(p, q, nil)
	for i := range p {
		for j := range q {
			if i == j || p < q && j%p == i {
				mix.Set(i, j, 1)
			}
		}
	}
	return mix
}

// probeSeed seeds the probes of mean, whose outcome they change by rounding alone.
const probeSeed = 1

// mean is A [p, q] over the tokens of the run, from what CarryTo makes of random probes: with
// X [p, n] the probes' slots side by side behind the fixed maps and U [q, n] what is read, on
// average over tokens, A^T X = U.
func (c *carrier) mean(w, r end, fixed rowMaps) (*mat.Dense, error) {
	p, q := c.slots(w, r)
	d, width := c.f.slotWidth(), c.writtenWidth(w)
	probes := 1 + 2*p/d
	source, x, u := c.source(w), mat.NewDense(probes*d, p, nil), mat.NewDense(probes*d, q, nil)
	draw := rand.New(rand.NewPCG(probeSeed, uint64(probes)))
	for i := range probes {
		y := gaussian(draw, 1, width)
		read, err := c.averaged(source, r, y.RawRowView(0))
		if err != nil {
			return nil, err
		}
		setSlots(x, i*d, d, fixed.rows(y).RawRowView(0))
		setSlots(u, i*d, d, read)
	}
	var mix mat.Dense
	if err := mix.Solve(x, u); err != nil {
		return nil, errors.Wrapf(err, "analysis: how %s comes to %s", w.site, r.site)
	}
	return &mix, checkMix(&mix, x, u, w, r)
}

// checkMix wants A^T X = U to hold to rounding.
func checkMix(mix, x, u *mat.Dense, w, r end) error {
	var rest mat.Dense
	rest.Mul(x, mix)
	rest.Sub(&rest, u)
	if size := mat.Norm(u, 2); !(mat.Norm(&rest, 2) <= 1e-6*size) {
		return errors.Errorf("analysis: how %s comes to %s: want a mixture of slots, got something else of size %g in %g: a map that this stream is not known for", w.site, r.site, mat.Norm(&rest, 2), size)
	}
	return nil
}

// setSlots puts the slots of v, d entries each, into columns from a row on.
func setSlots(x *mat.Dense, from, d int, v []float64) {
	for i, value := range v {
		x.Set(from+i%d, i/d, value)
	}
}

// writtenWidth is the number of entries of what a site writes for a token.
func (c *carrier) writtenWidth(w end) int {
	if c.f.c.Stream == models.StreamVWN && w.at == 0 {
		return w.size
	}
	return c.f.streamWidth()
}

// source is the name by which stream.Held knows a write.
func (c *carrier) source(w end) string {
	for _, writer := range c.f.model.Writers() {
		if writer.Name == w.site {
			return writer.Source
		}
	}
	return w.site
}

// averaged is the mean over tokens of what becomes of y, written at source, at what r reads.
func (c *carrier) averaged(source string, r end, y []float64) ([]float64, error) {
	var mean []float64
	tokens := c.held.Tokens()
	for t := range tokens {
		read, err := c.carried(source, r, t, y)
		if err != nil {
			return nil, err
		}
		if mean == nil {
			mean = make([]float64, len(read))
		}
		floats.AddScaled(mean, 1/float64(tokens), read)
	}
	return mean, nil
}

// carried is what becomes of y, written at source for a token, at what r reads; at the end of
// hyper-connections, whose rows are added up, their sum.
func (c *carrier) carried(source string, r end, token int, y []float64) ([]float64, error) {
	if r.site != unembeddingSite {
		return c.held.CarryTo(source, r.site, token, y)
	}
	x, err := c.held.Carry(source, token, y)
	if err != nil || len(x) == r.size {
		return x, err
	}
	sum := make([]float64, r.size)
	for i := 0; i < len(x); i += r.size {
		floats.Add(sum, x[i:][:r.size])
	}
	return sum, nil
}
