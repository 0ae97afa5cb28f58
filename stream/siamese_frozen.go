package stream

import (
	"fmt"

	"github.com/residua-go/residua/stream/linear"
)

// Form has x and y as rows: x is carried, and both are read, through norms.
func (s *siamese) Form(at Site) Form {
	c := s.couplings[at.Index]
	f := plainForm(at, "Li et al. 2026, arXiv 2602.08064 (SiameseNorm)")
	f.Res = Coefficient{Choice: Dependent, Diagonal: true, Rows: 2, Columns: 2, Axes: "2 x 2", Parameters: nodeNames(c.post.Gain()),
		Start: Start{Text: "1/std(x) at x, 1 at y"}}
	f.Down = Coefficient{Choice: Dependent, Diagonal: true, Rows: 1, Columns: 2, Axes: "1 x 2", Parameters: nodeNames(c.post.Gain(), c.pre.Gain()),
		Start: Start{Text: "1/std(x) at x, 1/std(y) at y"}}
	f.Up = Coefficient{Choice: Fixed, Rows: 2, Columns: 1, Axes: "2 x 1",
		Start: Start{Text: fmt.Sprintf("%.3g at x, 1 at y", siameseFactor(at)), Values: []float64{siameseFactor(at), 1}}}
	return f
}

// Output is what the last norm reads.
func (s *siamese) Output() string { return s.couplings[len(s.couplings)-1].read }

// FreezeHooks are what the couplings' norms read.
func (s *siamese) FreezeHooks() []string {
	var names []string
	for _, c := range s.couplings {
		names = append(names, c.name+postInput, c.name+preInput)
	}
	return names
}

// Freeze carries x, y and N_pre(y), one below the other: before a site its norms, at the scales of the
// run, make x and N_pre(y) anew, whose sum it reads; what it gives is added to x, over the divisor, and
// to y.
func (s *siamese) Freeze(r Record) (*Frozen, error) {
	read, err := recorded(r, s.FreezeHooks())
	if err != nil {
		return nil, err
	}
	return s.freeze(r, read), nil
}

// Static has norms at scale 1.
func (s *siamese) Static() *Frozen { return s.freeze(nil, nil) }

func (s *siamese) freeze(r Record, read map[string][]float64) *Frozen {
	d := s.c.D
	f, one := NewFrozen(r, d), linear.Identity(d)
	f.writeTables(s.tables, linear.Transposed{Of: linear.Rows(d, []float64{1, 1, 0})})
	both := linear.Rows(d, []float64{1, 0, 1})
	for l := range s.c.Layers {
		for _, site := range s.Sites(l) {
			s.freezeCoupling(f, s.couplings[site.Index], read)
			f.vectorSite(site, both, linear.Transposed{Of: linear.Rows(d, []float64{siameseFactor(site), 1, 0})}, s.after(site))
		}
	}
	s.freezeCoupling(f, s.couplings[len(s.couplings)-1], read)
	f.Step(both)
	f.ReadOut(one, thenNorm(s.b, s.norm))
	return f
}

// freezeCoupling is the step from x, y and what is no more needed to N_post(x), y and N_pre(y).
func (s *siamese) freezeCoupling(f *Frozen, c coupling, read map[string][]float64) {
	d := s.c.D
	post, postBias := freezeNorm(s.b, c.post, read[c.name+postInput])
	pre, preBias := freezeNorm(s.b, c.pre, read[c.name+preInput])
	x, y := linear.Row(3, 0, d), linear.Row(3, 1, d)
	f.Step(linear.Stack{linear.Chain{x, post}, y, linear.Chain{y, pre}})
	if postBias != nil {
		f.Add(append(append(postBias, make([]float64, d)...), preBias...))
	}
}
