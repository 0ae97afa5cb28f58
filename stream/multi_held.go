package stream

import (
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/stream/linear"
)

// writers are the heads.
func (s *multi) writers() []Writer {
	var writers []Writer
	for l := range s.attention {
		writers = append(writers, s.attention[l].writer(s.Sites(l)[0]))
	}
	return writers
}

// End is the rows after the last feed-forward.
func (s *multi) End() string { return lastSite(s.c.Layers).Name() + ".stream" }

// Holds are the coefficients of all sites.
func (s *multi) Holds() []string {
	var names []string
	for l := range s.c.Layers {
		for _, site := range s.Sites(l) {
			names = append(names, site.Name()+".coefficients")
		}
	}
	return names
}

// holdSites adds a step a site: the rows are mixed by A_carry, and what is written after
// that goes to the rows by B_up.
func (s *multi) holdSites(h *Held, r Record, p packing) error {
	for l := range s.c.Layers {
		for _, site := range s.Sites(l) {
			c, err := heldCoefficients(r, site, p)
			if err != nil {
				return err
			}
			after := thenNorm(s.b, s.features[l])
			if site.Kind == Attention {
				after = s.attention[l].after
			}
			d := s.c.D / p.m
			h.Read(site.Name(), linear.Mix{In: p.n, Out: p.m, Width: d, At: func(t, i, j int) float64 { return c(t, j, i) }}, after)
			h.Step(linear.Mix{In: p.n, Out: p.n, Width: d, At: func(t, i, j int) float64 { return c(t, j, p.m+i) }})
			h.Enter(site.Name(), linear.Mix{In: p.m, Out: p.n, Width: d, At: func(t, i, j int) float64 { return c(t, i, p.m+p.n+j) }})
		}
	}
	return nil
}

// heldCoefficients are a site's packed coefficients by token, row and column: one set for
// all tokens, or one each; without a run those of a plain residual.
func heldCoefficients(r Record, site Site, p packing) (func(token, row, column int) float64, error) {
	if r == nil {
		plain := p.plain()
		return func(_, row, column int) float64 { return plain[row*p.columns()+column] }, nil
	}
	name, size := site.Name()+".coefficients", p.n*p.columns()
	values, err := r.Activation(name)
	if err != nil {
		return nil, err
	}
	stride := size
	switch len(values) {
	case r.Tokens() * size:
	case size:
		stride = 0
	default:
		return nil, errors.Errorf("stream: %s: want %d entries, or as many for each of %d tokens, got %d", name, size, r.Tokens(), len(values))
	}
	return func(token, row, column int) float64 { return values[token*stride+row*p.columns()+column] }, nil
}

// Writers are the tables and the heads.
func (s *copied) Writers() []Writer { return append(s.tables.writers(), s.multi.writers()...) }

// Static is of rows that are alike, as those of a plain residual are: a site reads one and
// writes to all, and the last norm takes their sum for one.
func (s *copied) Static() *Held {
	h, _ := s.Hold(nil) // wants no activations, and fails by them alone
	h.ReadOut(linear.Rows(s.c.D, slices.Repeat([]float64{1 / float64(s.n)}, s.n)), thenNorm(s.multi.b, s.norm))
	return h
}

// Hold is products of A_res from every site to the end.
func (s *copied) Hold(r Record) (*Held, error) {
	h := NewHeld(r, s.n*s.c.D)
	rows := linear.Mix{In: 1, Out: s.n, Width: s.c.D, At: func(_, _, _ int) float64 { return 1 }}
	h.enterTables(s.tables, rows)
	if err := s.holdSites(h, r, packing{s.n, 1}); err != nil {
		return nil, err
	}
	h.ReadOut(linear.Transposed{Of: rows}, thenNorm(s.multi.b, s.norm))
	return h, nil
}

// Writers are the tables and the heads.
func (v *vwn) Writers() []Writer { return append(v.tables.writers(), v.multi.writers()...) }

// Static is of a plain residual in the first m slots, whose slot i the others have, too, where
// i is their number mod m.
func (v *vwn) Static() *Held {
	h, _ := v.Hold(nil) // wants no activations, and fails by them alone
	return h
}

// Hold is products of A_carry from every site to the end.
func (v *vwn) Hold(r Record) (*Held, error) {
	h := NewHeld(r, v.n*v.d)
	var embed linear.Map = linear.Identity(h.size)
	if v.expand != nil {
		embed = linear.Matrix{W: values(v.multi.b, v.expand.Name()), In: v.c.D, Out: h.size}
	}
	h.enterTables(v.tables, embed)
	if err := v.holdSites(h, r, packing{v.n, v.m}); err != nil {
		return nil, err
	}
	h.ReadOut(linear.Identity(h.size), v.after)
	return h, nil
}

// after holds the group norm, W_reduce and the final norm at the ends [T, n*d].
func (v *vwn) after(end []float64) (linear.Chain, []float64) {
	b := v.multi.b
	reduce := linear.Matrix{W: values(b, v.reduce.Name()), In: v.n * v.d, Out: v.c.D}
	maps := linear.Chain{reduce}
	if v.groupNorm != nil {
		norm := linear.Norm{Gain: values(b, v.groupNorm.Name()), Centre: true, Groups: v.groupNorm.Shape()[0]}
		maps = linear.Chain{norm.At(end, orEps(v.c.Norm.Eps)), reduce}
	}
	var reduced []float64 // [T, D]
	for t := range len(end) / reduce.In {
		reduced = append(reduced, maps.Apply(t, end[t*reduce.In:][:reduce.In])...)
	}
	norm, bias := holdNorm(b, v.norm, reduced)
	return append(maps, norm), bias
}
