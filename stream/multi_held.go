package stream

import (
	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph"
)

// writers are the heads.
func (s *multi) writers() []Writer {
	var writers []Writer
	for l := range s.attention {
		writers = append(writers, s.attention[l].writer(s.Sites(l)[0]))
	}
	return writers
}

// End is the rows behind the last feed-forward.
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

// holdSites adds a step a site: the rows are mixed by A_carry, and what is written behind
// that goes to the rows by B_up.
func (s *multi) holdSites(h *Held, r Record, p packing) error {
	for l := range s.c.Layers {
		for _, site := range s.Sites(l) {
			c, err := heldCoefficients(r, site, p)
			if err != nil {
				return err
			}
			d := s.c.D / p.m
			h.read(site.Name(), mixMap{in: p.n, out: p.m, d: d, at: func(t, i, j int) float64 { return c(t, j, i) }})
			h.step(mixMap{in: p.n, out: p.n, d: d, at: func(t, i, j int) float64 { return c(t, j, p.m+i) }})
			h.enter(site.Name(), mixMap{in: p.m, out: p.n, d: d, at: func(t, i, j int) float64 { return c(t, i, p.m+p.n+j) }})
		}
	}
	return nil
}

// heldCoefficients are a site's packed coefficients by token, row and column: one set for
// all tokens, or one each.
func heldCoefficients(r Record, site Site, p packing) (func(token, row, column int) float64, error) {
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

// Hold is products of A_res from every site to the end.
func (s *copied) Hold(r Record) (*Held, error) {
	h := &Held{tokens: r.Tokens(), size: s.n * s.c.D}
	rows := mixMap{in: 1, out: s.n, d: s.c.D, at: func(_, _, _ int) float64 { return 1 }}
	h.enterTables(s.tables, rows)
	if err := s.holdSites(h, r, packing{s.n, 1}); err != nil {
		return nil, err
	}
	h.readout = func(end []float64) *Readout {
		sum := transposed{rows}
		norm, bias := holdLayerNorm(s.multi.b, s.norm, h.eachToken(end, sum))
		return &Readout{maps: []linearMap{sum, norm}, constant: bias}
	}
	return h, nil
}

// eachToken maps the ends [T, Size] of all tokens.
func (h *Held) eachToken(end []float64, m linearMap) []float64 {
	var all []float64
	for t := range h.tokens {
		all = append(all, m.apply(t, end[t*h.size:][:h.size])...)
	}
	return all
}

// Writers are the tables and the heads.
func (v *VWN) Writers() []Writer { return append(v.tables.writers(), v.multi.writers()...) }

// Hold is products of A_carry from every site to the end.
func (v *VWN) Hold(r Record) (*Held, error) {
	h := &Held{tokens: r.Tokens(), size: v.n * v.d}
	var embed linearMap = identityMap{h.size}
	if v.expand != nil {
		embed = matrixMap{values(v.multi.b, v.expand.Name()), v.c.D, h.size}
	}
	h.enterTables(v.tables, embed)
	if err := v.holdSites(h, r, packing{v.n, v.m}); err != nil {
		return nil, err
	}
	h.readout = func(end []float64) *Readout { return v.hold(h, end) }
	return h, nil
}

// hold holds the group norm, W_reduce and the final norm.
func (v *VWN) hold(h *Held, end []float64) *Readout {
	b := v.multi.b
	reduce := matrixMap{values(b, v.reduce.Name()), h.size, v.c.D}
	maps := []linearMap{reduce}
	if v.groupNorm != nil {
		o := graph.NormOptions{Eps: v.c.Norm.Eps, Groups: v.groupNorm.Shape()[0]}
		maps = []linearMap{holdNorm(end, values(b, v.groupNorm.Name()), o), reduce}
	}
	var reduced []float64 // [T, D]
	for t := range h.tokens {
		x := end[t*h.size:][:h.size]
		for _, m := range maps {
			x = m.apply(t, x)
		}
		reduced = append(reduced, x...)
	}
	norm, bias := holdLayerNorm(b, v.norm, reduced)
	return &Readout{maps: append(maps, norm), constant: bias}
}
