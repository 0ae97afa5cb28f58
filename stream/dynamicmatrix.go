package stream

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/ops/mix"
	"github.com/residua-go/residua/layers"
	maps "github.com/residua-go/residua/stream/linear"
)

// DynamicMatrixConfig describes a matrix stream whose keys depend on the stream. It has the
// settings of a MatrixConfig.
type DynamicMatrixConfig MatrixConfig

// Name returns "dynamic-matrix".
func (DynamicMatrixConfig) Name() string { return "dynamic-matrix" }

// Card describes the RMT with input-dependent keys.
func (DynamicMatrixConfig) Card() layers.Card {
	return layers.Card{
		Title: "Residual Matrix Transformer, input-dependent keys",
		Equation: "Xn = Norm(X);   r_t = r + s_r ⊙ tanh(Xn W_r)^T;   w_t = w + s_w ⊙ tanh(Xn W_w)^T\n" +
			"q, k, v = r_t Xn;   X <- X + sum_h w_t[h] (x) o_h          X is Dk x Dv, r_t and w_t a token's own",
		Source: "the RMT (Mak and Flanigan 2025, arXiv 2506.22696) with the coefficients of dynamic hyper-connections (Zhu et al. 2024, arXiv 2409.19606, eq. 10-13)",
		Use: "The RMT, whose tokens choose by what their stream has where they read and write it: each row of X has a say in its own entry of every key. " +
			"About 2 Dk + Dv parameters a key instead of Dk, and twice the RMT's work at keys; starts as the RMT. An experiment of this project: no paper reports it.",
	}
}

// Check checks the settings as a matrix stream's are checked.
func (c DynamicMatrixConfig) Check() error { return MatrixConfig(c).check(c.Name()) }

// Shape returns the shape of a matrix stream.
func (c DynamicMatrixConfig) Shape() Shape { return MatrixConfig(c).Shape() }

// Cost adds to a matrix stream's cost the parts of the keys that depend on the stream: each key
// takes Dk + Dv parameters for scale and projection and 2 Dk Dv FLOPs, and keeps Dk entries before
// tanh and after. The normalised stream, which reads and projections share, is kept, too.
func (c DynamicMatrixConfig) Cost() layers.Cost {
	dk, dv := float64(c.Dk), float64(c.Dv)
	total := MatrixConfig(c).Cost()
	for _, at := range c.AllSites() {
		m := 2 * float64(c.Rank)
		if at.Sublayer == Attention {
			m += 2 * float64(MatrixConfig(c).kvHeads())
		}
		total = total.Plus(layers.Cost{Parameters: m * (dk + dv), FLOPs: 2 * m * dk * dv, Activations: 2*m*dk + indicator(!c.Norm.Bias)*dk*dv})
	}
	return total
}

// New makes the parameters of a matrix stream whose sites read and write each token with its own
// keys, as dynamic hyper-connections do with their coefficients (Zhu et al. 2024, arXiv 2409.19606,
// eq. 10-13). With Xn = Norm(X), whose row i (Dv entries) determines entry i of every key,
//
//	r_t = r + s_r ⊙ tanh(Xn W_r)^T         w_t = w + s_w ⊙ tanh(Xn W_w)^T
//	q, k, v = r_t Xn                       X <- X + sum_h w_t[h] (x) o_h
//
// Embedding and unembedding use the RMT's keys. At first W = 0 and s = 0.01, which makes it the
// RMT.
//
// Parameters of m keys by which a site reads: "read.static" [Dk, m], with a key in each column,
// "read.w" [Dv, m] and "read.scale" [Dk, m]; of the keys by which it writes: "write.static" and so
// on.
func (c DynamicMatrixConfig) New(b *graph.Builder) Stream {
	return newMatrix(b, MatrixConfig(c), func(at Site, reads []int) (read, write keyVectors) {
		m, name := 1, at.Name()
		for _, n := range reads[:len(reads)-1] {
			m *= n
		}
		return newDynamicKeys(b, name+".read", keys(graph.RoleHidden, c.Init.Hidden(name+".read.static", c.Dk, c.KeyRatio, c.Dk, m)), c.Dv),
			newDynamicKeys(b, name+".write", keys(graph.RoleReadKeys, c.Init.Output(name+".write.static", c.Rank, c.RankRatio, c.Dk, c.Rank)), c.Dv)
	})
}

// keyVectors holds the keys of a site's read or write: static [m, Dk], or static [Dk, m] and the
// parameters from which each token's own keys are computed.
type keyVectors struct {
	name             string
	static, w, scale *gorgonia.Node // if w and scale are nil, the keys are the same for all tokens
}

func newDynamicKeys(b *graph.Builder, name string, static graph.ParamSpec, dv int) keyVectors {
	dk, m := static.Shape[0], static.Shape[1]
	return keyVectors{name, b.Param(static), b.Param(decaying(name+".w", dv, m)), b.Param(filled(name+".scale", 0.01, dk, m))}
}

// of returns the keys computed from the normalised stream [T, Dk, Dv]: [T, Dk, m].
func (k keyVectors) of(b *graph.Builder, xn *gorgonia.Node) *gorgonia.Node {
	z := linear.Map(b, xn, k.w, linear.Options{Rows: true, AddGradient: true}) // [T, Dk, m]
	return b.Hook(k.name+keysHook, mix.TanhCoefficients(b, z, k.static, k.scale, 1), "key", "coefficient")
}

// keysHook is the end of the names of hooks of a token's own keys.
const keysHook = ".keys"

// coefficient returns the coefficient of a site's form.
func (k keyVectors) coefficient(b *graph.Builder, rows, columns int, axes string) Coefficient {
	choice := Learned
	if k.w != nil {
		choice = Dependent
	}
	return choice.coefficient(rows, columns, axes, drawn(b, k.static), k.static, k.w, k.scale)
}

// frozen returns the map by which the keys store rows: with each token's keys or, without a run,
// the static ones.
func (k keyVectors) frozen(f *Frozen, m *matrix) maps.Mix {
	if k.w == nil {
		return m.keys(k.static)
	}
	dk, n := m.c.Dk, k.static.Shape()[1]
	if keys := f.Recorded(k.name+keysHook, dk*n); keys != nil {
		return maps.Mix{In: n, Out: dk, Width: m.c.Dv, At: func(t, i, j int) float64 { return keys[(t*dk+i)*n+j] }}
	}
	columns := values(m.b, k.static.Name()) // [Dk, m]
	return maps.Keys(table(n, dk, func(i, j int) float64 { return columns[j*n+i] }), dk, m.c.Dv)
}
