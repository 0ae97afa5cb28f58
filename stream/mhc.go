package stream

import (
	"math"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
)

// MHCConfig describes a stream with manifold-constrained hyper-connections.
type MHCConfig struct {
	VectorConfig
	N          int // rows
	Iterations int // of Sinkhorn's algorithm
}

// MHC is a stream with manifold-constrained hyper-connections (DeepSeek 2025, arXiv
// 2512.24880): n rows X [n, D] whose mixing is doubly stochastic, so that no row's sum
// grows with depth. With x_n = vec(X)/rms(vec(X)), one RMS over all n*D entries,
//
//	z = alpha (x_n phi) + b               pre [n] | post [n] | res [n, n], an alpha each
//	pre = sigmoid(z_pre);   post = 2 sigmoid(z_post);   H_res = Sinkhorn(exp(z_res))
//	X <- H_res X + post^T F(pre . X);     features = Norm(sum of rows)
//
// At first phi = 0 and alpha = 0.01; b is +1 at pre's row (site mod n) and -1 at the others,
// 0 at post (a post of 1), 0 on res's diagonal and -8 beside it (a diagonal of 0.999): with
// rows that start alike, a uniform b would never let gradient descent tell them apart. b and
// alpha do not decay.
//
// Parameters of a site: "mhc.phi" [n*D, 2n+n*n], "mhc.alpha" [3], "mhc.b" [2n+n*n].
type MHC struct{ copied }

// besideIdentity is b at first of what mixes rows other than with themselves.
const besideIdentity = -8

// NewMHC makes the parameters of a stream with manifold-constrained hyper-connections.
func NewMHC(b *graph.Builder, c MHCConfig) *MHC {
	var res []float64
	for i := range c.N {
		for j := range c.N {
			res = append(res, besideIdentity*indicator(i != j))
		}
	}
	return &MHC{newCopied(b, c.VectorConfig, c.N, func(at Site) mixer {
		return sinkhornMixer{newProjection(b, c.VectorConfig, c.N, at, res), c.N, c.Iterations}
	})}
}

// projection is alpha (x_n phi) + b before what mHC and mHC-lite make of it.
type projection struct {
	b             *graph.Builder
	phi, alpha, c *gorgonia.Node // [n*D, k], [3], [k]
	eps           float64
}

// newProjection makes a site's parameters; res is b of the rows' mixing.
func newProjection(b *graph.Builder, c VectorConfig, n int, at Site, res []float64) projection {
	name, start := at.Name()+".mhc", make([]float64, 2*n, 2*n+len(res))
	for i := range n {
		start[i] = 2*indicator(i == at.Index%n) - 1
	}
	start = append(start, res...)
	return projection{b: b, eps: c.Norm.Eps,
		phi:   b.Param(decaying(name+".phi", n*c.D, len(start))),
		alpha: b.Param(constant(name+".alpha", []float64{0.01, 0.01, 0.01}, 3)),
		c:     b.Param(constant(name+".b", start, len(start))),
	}
}

// of is x_n phi [T, k].
func (p projection) of(h *gorgonia.Node) *gorgonia.Node {
	return p.b.NormLinear(h, nil, p.phi, graph.NormOptions{RMS: true, Eps: p.eps})
}

type sinkhornMixer struct {
	projection
	n, iterations int
}

func (m sinkhornMixer) coefficients(h *gorgonia.Node) *gorgonia.Node {
	return m.b.SinkhornCoefficients(m.of(h), m.alpha, m.c, m.n, m.iterations)
}

// Form has a doubly stochastic A_res. At first the matrix that Sinkhorn's algorithm begins
// with is the same in each row and column, so that dividing by a row's sum ends it.
func (s *MHC) Form(at Site) Form {
	f := constrainedForm(s.multi.b, at, s.n, s.mixers[at.Index].(sinkhornMixer).projection, 1/(1+float64(s.n-1)*math.Exp(besideIdentity)))
	f.Source = "DeepSeek 2025, arXiv 2512.24880"
	return f
}
