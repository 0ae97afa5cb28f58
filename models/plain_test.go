package models_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// plain is a transformer in loops: learned positions, LayerNorm with a gain, one row. What
// a norm reads is multiplied by site at the sublayers and by last at the end, which only
// eps can tell.
type plain struct {
	c          models.Spec
	w          map[string][]float64
	site, last float64
}

// logits is the model's function: [seq, vocab].
func (p plain) logits(tokens []int32) []float64 {
	d, h := p.c.Width(), []float64{}
	for i, id := range tokens {
		for j := range d {
			h = append(h, p.w["embedding"][int(id)*d+j]+p.w["positions"][i*d+j])
		}
	}
	for l := range p.c.Layers {
		a, f := site(l, "attention"), site(l, "feedforward")
		qkv := matmul(p.norm(h, a+"norm", p.site), p.w[a+"qkv"], d)
		addTo(h, matmul(p.attend(qkv), p.w[a+"o"], d))
		hidden := matmul(p.norm(h, f+"norm", p.site), p.w[f+"w1"], d)
		addTo(h, matmul(geluTanh(hidden), p.w[f+"w2"], p.c.FeedForwardShape().Hidden))
	}
	return matmul(p.norm(h, "norm", p.last), p.w["unembedding"], d)
}

// norm is LayerNorm of factor*x.
func (p plain) norm(x []float64, name string, factor float64) []float64 {
	gain, y := p.w[name], make([]float64, len(x))
	n := len(gain)
	for at := 0; at < len(x); at += n {
		mean, variance := 0.0, 0.0
		for _, v := range x[at : at+n] {
			mean += factor * v / float64(n)
		}
		for _, v := range x[at : at+n] {
			variance += (factor*v - mean) * (factor*v - mean) / float64(n)
		}
		for i, v := range x[at : at+n] {
			y[at+i] = (factor*v - mean) / math.Sqrt(variance+p.c.NormEps) * gain[i]
		}
	}
	return y
}

// attend is causal attention of packed q, k, v [seq, 3, heads, size]: [seq, heads, size].
func (p plain) attend(qkv []float64) []float64 {
	d, heads := p.c.Width(), p.c.HeadCount()
	size, seq := d/heads, len(qkv)/(3*d)
	at := func(token, part, head, i int) float64 { return qkv[(token*3+part)*d+head*size+i] }
	out := make([]float64, seq*d)
	for token := range seq {
		for head := range heads {
			weights, sum := make([]float64, token+1), 0.0
			for other := range weights {
				dot := 0.0
				for i := range size {
					dot += at(token, 0, head, i) * at(other, 1, head, i)
				}
				weights[other] = math.Exp(dot / math.Sqrt(float64(size)))
				sum += weights[other]
			}
			for other, weight := range weights {
				for i := range size {
					out[token*d+head*size+i] += weight / sum * at(other, 2, head, i)
				}
			}
		}
	}
	return out
}

// matmul is x w of rows of n entries.
func matmul(x, w []float64, n int) []float64 {
	width := len(w) / n
	y := make([]float64, len(x)/n*width)
	for i := range y {
		for k := range n {
			y[i] += x[i/width*n+k] * w[k*width+i%width]
		}
	}
	return y
}

// geluTanh is the tanh form of GELU.
func geluTanh(xs []float64) []float64 {
	y := make([]float64, len(xs))
	for i, x := range xs {
		y[i] = 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
	}
	return y
}

func addTo(x, y []float64) {
	for i := range x {
		x[i] += y[i]
	}
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// readSum is the sum of mHC's pre at first: 1 row of sigmoid(1), the others of sigmoid(-1).
func readSum(n int) float64 { return logistic(1) + float64(n-1)*logistic(-1) }

// TestInitialFunctionUpToEps compares streams of n rows, at their first coefficients, with
// a transformer in plain loops. With rows that start alike and stay alike each is h <- h +
// F(h): hyper-connections read one row, mHC readSum of it, and at the end all read n of it.
// As each reading goes through a norm, this is a transformer but for eps, which counts as
// eps over the square of the factor. eps is large here, so that the difference is seen.
func TestInitialFunctionUpToEps(t *testing.T) {
	const n, eps = 4, 0.05
	large := func(c *models.Config) { c.NormEps = eps }
	for name, row := range map[string]struct {
		c          models.Config
		site, last float64
	}{
		"vector":        {tinyVector(large), 1, 1},
		"hyper/static":  {tinyZoo(stream.HyperConfig{N: n}, large), 1, n},
		"hyper/dynamic": {tinyZoo(stream.HyperConfig{N: n, Dynamic: true}, large), 1, n},
		"mhc":           {tinyZoo(stream.MHCConfig{N: n}, large), readSum(n), n},
		"mhc-lite":      {tinyZoo(stream.MHCLiteConfig{N: n}, large), readSum(n), n},
		"mhc/two":       {tinyZoo(stream.MHCConfig{N: 2}, large), readSum(2), 2},
	} {
		t.Run(name, func(t *testing.T) {
			c := modeltest.Resolve(t, row.c)
			store, shared := modeltest.NewStore(t, c, tensor.Float64, 0), modeltest.PerturbedStore(t, modeltest.Resolve(t, tinyVector(plainly)), tensor.Float64)
			for _, p := range shared.Params() {
				require.NoError(t, graph.SetFloat64s(store.Param(p.Name).Value, graph.Float64s(p.Value)))
			}
			b := modeltest.RandomBatch(c, 1, c.Seq, 1)
			got := modeltest.Compile(t, c, store, modeltest.Setup{Rows: 1}).On(t, b, graph.RunOptions{}).Logits
			model := plain{c, modeltest.Values(shared), row.site, row.last}
			assert.LessOrEqual(t, modeltest.Distance(got, model.logits(b.Inputs)), 1e-12)
			if model.site, model.last = 1, 1; row.last != 1 {
				assert.Greater(t, modeltest.Distance(got, model.logits(b.Inputs)), 1e-3, "a transformer of the same eps")
			}
		})
	}
}

// TestInitialMixing follows mHC's and mHC-lite's rows through a model at their first
// coefficients, but for what is written to each row, which makes the rows differ:
//
//	pre = sigmoid(1) at row (site mod n), sigmoid(-1) elsewhere;  post = 2 sigmoid(b_post)
//	mHC: H is 1/(1 + (n-1) e^-8) on the diagonal, e^-8 of that offDiagonal it: already doubly
//	stochastic, so that Sinkhorn changes nothing
//	mHC-lite: a_1 = 1/(1 + (n!-1) e^-8) for the identity, e^-8 of that for the others, of
//	which (n-1)! have any given entry
func TestInitialMixing(t *testing.T) {
	const n = 4
	rest := math.Exp(-8)
	first := 1 / (1 + 23*rest)
	for d, row := range map[stream.Design]struct{ diagonal, offDiagonal float64 }{
		stream.MHCConfig{N: n}:     {1 / (1 + 3*rest), rest / (1 + 3*rest)},
		stream.MHCLiteConfig{N: n}: {first * (1 + 5*rest), first * 6 * rest},
	} {
		t.Run(d.Name(), func(t *testing.T) {
			require.InDelta(t, 1, row.diagonal+(n-1)*row.offDiagonal, 1e-15, "the sum of a row")
			c := modeltest.Resolve(t, tinyZoo(d, plainly))
			p, post := compileMixing(t, c, n)
			value := func(hook string) []float64 {
				x, err := p.Hooked(hook)
				require.NoError(t, err, hook)
				return graph.Float64s(x)
			}
			state := value("embedding.out")
			for index := range 2 * c.Layers {
				prefix := site(index/2, []string{"attention", "feedforward"}[index%2])
				checkCoefficients(t, value(prefix+"coefficients"), index, post, row.diagonal, row.offDiagonal)
				read, next := mixRows(state, value(prefix+"write"), c.Width(), index, post, row.diagonal, row.offDiagonal)
				require.LessOrEqual(t, modeltest.Distance(value(prefix+"read"), read), 1e-13, prefix+"read")
				require.LessOrEqual(t, modeltest.Distance(value(prefix+"stream"), next), 1e-13, prefix+"stream")
				state = next
			}
		})
	}
}

// compileMixing runs a model at its first coefficients but for post's, which it returns, and
// watches its rows.
func compileMixing(t *testing.T, c models.Spec, n int) (*modeltest.Program, []float64) {
	store := modeltest.NewStore(t, c, tensor.Float64, 0)
	shared, bias, post := modeltest.PerturbedStore(t, modeltest.Resolve(t, tinyVector(plainly)), tensor.Float64), []float64{-1, 0, 0.5, 2}, []float64{}
	for _, p := range shared.Params() {
		require.NoError(t, graph.SetFloat64s(store.Param(p.Name).Value, graph.Float64s(p.Value)))
	}
	for _, b := range bias {
		post = append(post, 2*logistic(b))
	}
	hooks := graph.Hooks{"embedding.out": nil}
	sites(c.Layers, func(prefix string) {
		copy(store.Param(prefix + "mhc.b").Value.Float64s()[n:], bias)
		for _, hook := range []string{"coefficients", "read", "write", "stream"} {
			hooks[prefix+hook] = nil
		}
	})
	p := modeltest.Compile(t, c, store, modeltest.Setup{Hooks: hooks})
	p.On(t, modeltest.RandomBatch(c, 2, c.Seq, 1), graph.RunOptions{})
	return p, post
}

// initialRead is pre of a row at a site.
func initialRead(row, index, n int) float64 {
	if row == index%n {
		return logistic(1)
	}
	return logistic(-1)
}

// checkCoefficients wants [T, n, n+2] to be pre, the transpose of H, and post.
func checkCoefficients(t *testing.T, got []float64, index int, post []float64, diagonal, offDiagonal float64) {
	t.Helper()
	n := len(post)
	for i, v := range got {
		token, row, column := i/(n*(n+2)), i/(n+2)%n, i%(n+2)
		want := offDiagonal
		switch column {
		case 0:
			want = initialRead(row, index, n)
		case row + 1:
			want = diagonal
		case n + 1:
			want = post[row]
		}
		require.InDelta(t, want, v, 1e-14, "site %d, token %d, row %d, column %d", index, token, row, column)
	}
}

// mixRows is u = pre . X and X <- H X + post^T y, of rows x [T, n, d] and y [T, d].
func mixRows(x, y []float64, d, index int, post []float64, diagonal, offDiagonal float64) (read, next []float64) {
	n := len(post)
	read, next = make([]float64, len(y)), make([]float64, len(x))
	for token := range len(y) / d {
		for j := range d {
			for i := range n {
				at := (token*n+i)*d + j
				read[token*d+j] += initialRead(i, index, n) * x[at]
				next[at] = post[i] * y[token*d+j]
				for k := range n {
					weight := offDiagonal
					if k == i {
						weight = diagonal
					}
					next[at] += weight * x[(token*n+k)*d+j]
				}
			}
		}
	}
	return read, next
}

// TestMixingOfLargeLogits: logits of 1e4 and more make mixing matrices of ones and zeros,
// not NaN, and finite gradients, in a whole model.
func TestMixingOfLargeLogits(t *testing.T) {
	for _, d := range []stream.Design{stream.MHCConfig{N: 3}, stream.MHCLiteConfig{N: 3}, stream.HyperConfig{N: 3, Dynamic: true}, stream.VWNConfig{N: 3, M: 3}} {
		for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
			for _, scale := range []float64{1e4, 1e8} {
				t.Run(fmt.Sprintf("%s/%v/%g", d.Name(), dt, scale), func(t *testing.T) { checkLargeLogits(t, d, dt, scale) })
			}
		}
	}
}

func checkLargeLogits(t *testing.T, d stream.Design, dt tensor.Dtype, scale float64) {
	c := modeltest.Resolve(t, tinyZoo(d, plainly))
	store := modeltest.PerturbedStore(t, c, dt)
	sites(c.Layers, func(prefix string) {
		for _, name := range []string{"mhc.phi", "hyper.w", "vwn.w"} {
			if p := store.Param(prefix + name); p != nil {
				values := graph.Float64s(p.Value)
				for i := range values {
					values[i] *= scale
				}
				require.NoError(t, graph.SetFloat64s(p.Value, values))
			}
		}
	})
	p := modeltest.Compile(t, c, store, modeltest.Setup{Gradients: true})
	r := p.On(t, modeltest.RandomBatch(c, 2, c.Seq, 1), graph.RunOptions{})
	finite := func(values []float64, what string) {
		for i, v := range values {
			require.False(t, math.IsNaN(v) || math.IsInf(v, 0), "%s, entry %d: %v", what, i, v)
		}
	}
	finite([]float64{r.Loss}, "loss")
	finite(r.Logits, "logits")
	for name, g := range modeltest.Gradients(store) {
		finite(g, name)
	}
}
