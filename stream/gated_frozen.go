package stream

import (
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/stream/linear"
)

// Writers are the tables and the heads.
func (s *gatedResidual) Writers() []Writer {
	writers := s.tables.writers()
	for l := range s.attention {
		writers = append(writers, s.attention[l].writer(s.Sites(l)[0]))
	}
	return writers
}

// Output is the rows after the last feed-forward.
func (s *gatedResidual) Output() string { return lastSite(s.c.Layers).Name() + ".stream" }

// FreezeHooks are the rows and the projections of all reads.
func (s *gatedResidual) FreezeHooks() []string {
	names := []string{"embedding.out"}
	for l := range s.c.Layers {
		for _, site := range s.Sites(l) {
			names = append(names, site.Name()+projectionHook, site.Name()+".stream")
		}
	}
	return append(names, s.reads[len(s.reads)-1].name+projectionHook)
}

// Static is of gates of 1/2, factors of 1 and rows of root mean square 1.
func (s *gatedResidual) Static() *Frozen {
	f, _ := s.Freeze(nil) // wants no activations, and fails by them alone
	return f
}

// Freeze carries the rows as they are. A site reads each entry by the run's gate over its row's root
// mean square, and writes to each row by the run's factor.
func (s *gatedResidual) Freeze(r Record) (*Frozen, error) {
	n, d := s.c.N, s.c.D
	f := NewFrozen(r, n*d)
	f.writeTables(s.tables, linear.Mix{In: 1, Out: n, Width: d, At: func(_, _, _ int) float64 { return 1 }})
	rows := "embedding.out"
	for l := range s.c.Layers {
		for _, site := range s.Sites(l) {
			down, err := s.frozenRead(r, s.reads[site.Index], rows)
			if err != nil {
				return nil, err
			}
			up, err := s.frozenFactors(r, site.Name()+projectionHook)
			if err != nil {
				return nil, err
			}
			after := unchanged(d)
			if site.Sublayer == Attention {
				after = s.attention[l].after
			}
			f.Read(site.Name(), down, after)
			f.Write(site.Name(), linear.Mix{In: 1, Out: n, Width: d, At: func(t, i, _ int) float64 { return up[t*n+i] }})
			rows = site.Name() + ".stream"
		}
	}
	down, err := s.frozenRead(r, s.reads[len(s.reads)-1], rows)
	if err != nil {
		return nil, err
	}
	f.ReadOut(down, unchanged(d))
	return f, nil
}

// unchanged is a read after which nothing follows.
func unchanged(d int) After {
	return func([]float64) (linear.Chain, []float64) { return linear.Chain{linear.Identity(d)}, nil }
}

// frozenRead is u of rows [n, D], which a hook recorded: of each entry, a factor, and then the mean of
// the rows.
func (s *gatedResidual) frozenRead(r Record, read gatedRead, rows string) (linear.Map, error) {
	n, d := s.c.N, s.c.D
	mean := linear.Rows(d, slices.Repeat([]float64{1 / float64(n)}, n))
	factors := values(s.b, read.gain.Name()) // [n, D]
	if r == nil {
		open := make([]float64, n*d)
		for i, gain := range factors {
			open[i] = gain / 2
		}
		return linear.Chain{linear.Scale{Factors: open, Size: n * d}, mean}, nil
	}
	h, err := s.activation(r, rows, n*d)
	if err != nil {
		return nil, err
	}
	open, err := s.frozenGates(r, read)
	if err != nil {
		return nil, err
	}
	norm := linear.Norm{Gain: factors, Groups: n}.At(h, orEps(s.c.Norm.Eps))
	return linear.Chain{norm, linear.Scale{Factors: open, Size: n * d}, mean}, nil
}

// frozenGates are G [T, n, D] of a read, made of its projection.
func (s *gatedResidual) frozenGates(r Record, read gatedRead) ([]float64, error) {
	n, rank, size, width := float64(s.c.N), s.c.Rank, s.c.N*s.c.D, read.down.Shape()[1]
	x, err := s.activation(r, read.name+projectionHook, width)
	if err != nil {
		return nil, err
	}
	up := values(s.b, read.up.Name()) // [rank, n*D]
	open := make([]float64, r.Tokens()*size)
	for t := range r.Tokens() {
		gates := open[t*size : (t+1)*size]
		for j, v := range x[t*width : t*width+rank] {
			h := v / n * logistic(v/n)
			for e, w := range up[j*size : (j+1)*size] {
				gates[e] += h * w
			}
		}
		for e, a := range gates {
			gates[e] = logistic(a)
		}
	}
	return open, nil
}

// frozenFactors are s [T, n] of a projection; without a run 1 for one token.
func (s *gatedResidual) frozenFactors(r Record, projection string) ([]float64, error) {
	n, width := s.c.N, s.c.Rank+s.c.N
	if r == nil {
		return slices.Repeat([]float64{1}, n), nil
	}
	x, err := s.activation(r, projection, width)
	if err != nil {
		return nil, err
	}
	var factors []float64
	for t := range r.Tokens() {
		for _, v := range x[(t+1)*width-n : (t+1)*width] {
			factors = append(factors, 2*logistic(v/float64(n)))
		}
	}
	return factors, nil
}

// activation is a hook's value of so many entries a token.
func (s *gatedResidual) activation(r Record, name string, width int) ([]float64, error) {
	x, err := r.Activation(name)
	if err == nil && len(x) != r.Tokens()*width {
		return nil, errors.Errorf("stream: %s: want %d entries for each of %d tokens, got %d in all", name, width, r.Tokens(), len(x))
	}
	return x, err
}
