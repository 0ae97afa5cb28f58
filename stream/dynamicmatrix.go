package stream

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/ops/mix"
	"github.com/residua-go/residua/graph/ops/readwrite"
	"github.com/residua-go/residua/layers"
)

// DynamicMatrixConfig describes a matrix stream whose keys depend on the stream. Its settings are a
// MatrixConfig's.
type DynamicMatrixConfig MatrixConfig

// Name is "dynamic-matrix".
func (DynamicMatrixConfig) Name() string { return "dynamic-matrix" }

// Card describes the RMT with input-dependent keys.
func (DynamicMatrixConfig) Card() layers.Card {
	return layers.Card{
		Title: "Residual Matrix Transformer, input-dependent keys",
		Equation: "Xn = Norm(X);   r_t = r + s_r ⊙ tanh(Xn W_r)^T;   w_t = w + s_w ⊙ tanh(Xn W_w)^T\n" +
			"q, k, v = r_t Xn;   X <- X + sum_h w_t[h] (x) o_h          X is Dk x Dv, r_t and w_t a token's own",
		Source: "the RMT (Mak and Flanigan 2025, arXiv 2506.22696) with the coefficients of dynamic hyper-connections (Zhu et al. 2024, arXiv 2409.19606, eq. 10-13)",
		Use:    "The RMT, whose tokens choose by what their stream has where they read and write it: each row of X has a say in its own entry of every key. About 2 Dk + Dv parameters a key in the place of Dk, and twice the RMT's work at keys; starts as the RMT. An experiment of this project: no paper reports it.",
	}
}

// Defaults changes nothing.
func (c DynamicMatrixConfig) Defaults() Design { return c }

// Check wants what a matrix stream's settings want.
func (c DynamicMatrixConfig) Check() error { return MatrixConfig(c).check(c.Name()) }

// Shape is a matrix stream's.
func (c DynamicMatrixConfig) Shape() Shape { return MatrixConfig(c).Shape() }

// siteKeys are the key vectors by which a sublayer reads, and writes.
func (c DynamicMatrixConfig) siteKeys(s Sublayer) (reads, writes int) {
	if s == Attention {
		return c.Rank + 2*MatrixConfig(c).kvHeads(), c.Rank
	}
	return c.Rank, c.Rank
}

// Cost is a matrix stream's, and that of the keys' parts that depend on the stream: of m keys, Dk + Dv
// parameters each for scale and projection, 2 Dk Dv FLOPs, and kept Dk entries before tanh and after.
// The normalised stream, which reads and projections share, is kept, too.
func (c DynamicMatrixConfig) Cost() layers.Cost {
	dk, dv := float64(c.Dk), float64(c.Dv)
	total := MatrixConfig(c).Cost()
	for _, sublayer := range c.sublayers() {
		reads, writes := c.siteKeys(sublayer)
		m := float64(reads + writes)
		site := layers.Cost{Parameters: m * (dk + dv), FLOPs: 2 * m * dk * dv, Activations: 2 * m * dk}
		if !c.Norm.Bias {
			site.Activations += dk * dv
		}
		total = total.Plus(site.Times(float64(c.Layers)))
	}
	return total
}

// New is newDynamicMatrix.
func (c DynamicMatrixConfig) New(b *graph.Builder) Stream { return newDynamicMatrix(b, c) }

// dynamicMatrix is a matrix stream whose sites read and write with keys of each token's own,
// as dynamic hyper-connections do with their coefficients (Zhu et al. 2024, arXiv 2409.19606, eq.
// 10-13). With Xn = Norm(X), of which row i, Dv entries, makes entry i of every key,
//
//	r_t = r + s_r ⊙ tanh(Xn W_r)^T         w_t = w + s_w ⊙ tanh(Xn W_w)^T
//	q, k, v = r_t Xn                       X <- X + sum_h w_t[h] (x) o_h
//
// Embedding and unembedding have the RMT's keys. At first W = 0 and s = 0.01: the function is the RMT's.
//
// Parameters of m keys that a site reads by: "read.static" [Dk, m], a key a column, "read.w"
// [Dv, m] and "read.scale" [Dk, m]; of those that it writes by: "write.static" and so on.
type dynamicMatrix struct {
	*matrix
	attentionKeys, featureKeys []dynamicSite
}

// dynamicSite is a norm and the keys by which one sublayer reads and writes the stream.
type dynamicSite struct {
	norm        *layers.Norm
	read, write dynamicKeys
}

// dynamicKeys makes keys of each token's own.
type dynamicKeys struct {
	b                *graph.Builder
	name             string
	static, w, scale *gorgonia.Node
}

// dynamicLink are the keys that a site writes by, [T, Dk, R].
type dynamicLink struct{ Keys *gorgonia.Node }

// newDynamicMatrix makes the parameters of a matrix stream with input-dependent keys.
func newDynamicMatrix(b *graph.Builder, c DynamicMatrixConfig) *dynamicMatrix {
	d := &dynamicMatrix{matrix: newMatrixTables(b, MatrixConfig(c))}
	for l := range c.Layers {
		for _, site := range d.Sites(l) {
			reads, writes := c.siteKeys(site.Sublayer)
			name := site.Name()
			read := keys(graph.RoleHidden, c.Init.Hidden(name+".read.static", c.Dk, c.KeyRatio, c.Dk, reads))
			write := keys(graph.RoleReadKeys, c.Init.Output(name+".write.static", c.Rank, c.RankRatio, c.Dk, writes))
			s := dynamicSite{layers.NewNorm(b, name+".norm", c.Norm, c.Dk, c.Dv), newDynamicKeys(b, name+".read", read, c.Dv), newDynamicKeys(b, name+".write", write, c.Dv)}
			if site.Sublayer == Attention {
				d.attentionKeys = append(d.attentionKeys, s)
			} else {
				d.featureKeys = append(d.featureKeys, s)
			}
		}
	}
	d.addLastRead()
	return d
}

func newDynamicKeys(b *graph.Builder, name string, static graph.ParamSpec, dv int) dynamicKeys {
	dk, m := static.Shape[0], static.Shape[1]
	scale := table(dk, m, func(_, _ int) float64 { return 0.01 })
	return dynamicKeys{b, name, b.Param(static), b.Param(decaying(name+".w", dv, m)), b.Param(constant(name+".scale", scale, dk, m))}
}

// of returns the keys that the normalised stream [T, Dk, Dv] makes, [T, Dk, m].
func (k dynamicKeys) of(xn *gorgonia.Node) *gorgonia.Node {
	z := linear.Map(k.b, xn, k.w, linear.Options{Rows: true, AddGradient: true}) // [T, Dk, m]
	return k.b.Hook(k.name+".keys", mix.TanhCoefficients(k.b, z, k.static, k.scale, 1), "key", "coefficient")
}

func (d *dynamicMatrix) site(at Site) dynamicSite {
	if at.Sublayer == Attention {
		return d.attentionKeys[at.Block]
	}
	return d.featureKeys[at.Block]
}

// ReadHeads reads queries, keys and values of heads of Dv entries.
func (d *dynamicMatrix) ReadHeads(s State, at Site) (*gorgonia.Node, Link) { return d.read(s, at) }

// ReadFeatures reads R vectors of Dv entries.
func (d *dynamicMatrix) ReadFeatures(s State, at Site) (*gorgonia.Node, Link) { return d.read(s, at) }

func (d *dynamicMatrix) read(s State, at Site) (*gorgonia.Node, Link) {
	site := d.site(at)
	xn := site.norm.Forward(s.(matrixState).X) // [T, Dk, Dv]
	link := dynamicLink{site.write.of(xn)}
	return readwrite.ReadEach(d.b, xn, site.read.of(xn)), link // [T, m, Dv]
}

// WriteHeads stores the heads' outputs.
func (d *dynamicMatrix) WriteHeads(s State, at Site, link Link, o *gorgonia.Node) State {
	return d.store(s, at, link, o)
}

// WriteFeatures stores y, R vectors of Dv entries.
func (d *dynamicMatrix) WriteFeatures(s State, at Site, link Link, y *gorgonia.Node) State {
	return d.store(s, at, link, y)
}

func (d *dynamicMatrix) store(s State, at Site, link Link, y *gorgonia.Node) State {
	x, keys := s.(matrixState).X, link.(dynamicLink).Keys
	y = elementwise.Dropout(d.b, y, d.c.Dropout)
	if name := at.Name() + ".write"; d.b.Hooked(name) {
		x = d.b.Add(x, d.b.Hook(name, readwrite.WriteEach(d.b, nil, keys, y), "key", "value")) // [T, Dk, Dv]
	} else {
		x = readwrite.WriteEach(d.b, x, keys, y) // [T, Dk, Dv]
	}
	return matrixState{d.b.Hook(at.Name()+".stream", x, "key", "value")}
}

// Form is a matrix stream's with keys that each token makes of its stream.
func (d *dynamicMatrix) Form(at Site) Form {
	f, s := d.form(at), d.site(at)
	for _, x := range []struct {
		coefficient *Coefficient
		keys        dynamicKeys
	}{{&f.Down, s.read}, {&f.Up, s.write}} {
		k := x.keys
		x.coefficient.Choice, x.coefficient.Parameters = Dependent, nodeNames(k.static, k.w, k.scale)
		x.coefficient.Start = drawn(d.b.Store(), k.static)
	}
	f.Source = "Mak & Flanigan 2025, arXiv 2506.22696; Zhu et al. 2024, arXiv 2409.19606"
	return f
}
