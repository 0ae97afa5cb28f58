package models_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// readSum returns the sum of mHC's initial pre: one row has sigmoid(1), the others sigmoid(-1).
func readSum(n int) float64 { return logistic(1) + float64(n-1)*logistic(-1) }

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

// compileMixing compiles a model with its first coefficients, except for post's, which it draws and
// returns, and watches its rows.
func compileMixing(t *testing.T, spec models.Spec, n int) (*modeltest.Program, []float64) {
	store := modeltest.NewStore(t, spec, tensor.Float64, 0)
	shared, bias, post := modeltest.PerturbedStore(t, modeltest.Resolve(t, tinyVector(plainly)), tensor.Float64), []float64{-1, 0, 0.5, 2}, []float64{}
	for _, p := range shared.Params() {
		require.NoError(t, graph.SetFloat64s(store.Param(p.Name).Value, graph.Float64s(p.Value)))
	}
	for _, b := range bias {
		post = append(post, 2*logistic(b))
	}
	hooks := graph.Hooks{"embedding.out": nil}
	sites(spec.Layers, func(prefix string) {
		copy(store.Param(prefix + "mhc.b").Value.Float64s()[n:], bias)
		for _, hook := range []string{"coefficients", "read", "write", "stream"} {
			hooks[prefix+hook] = nil
		}
	})
	p := modeltest.Compile(t, spec, store, modeltest.Setup{Hooks: hooks})
	p.On(t, modeltest.RandomBatch(spec, 2, spec.Seq, 1), graph.RunOptions{})
	return p, post
}

// initialRead returns the initial pre of a row at a site.
func initialRead(row, index, n int) float64 {
	if row == index%n {
		return logistic(1)
	}
	return logistic(-1)
}

// checkCoefficients requires that [T, n, n+2] holds pre, the transpose of H, and post.
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

// mixRows returns u = pre . X and X <- H X + post^T y, for rows x [T, n, d] and y [T, d].
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
	for _, d := range []stream.Design{stream.MHCConfig{N: 3}, stream.MHCLiteConfig{N: 3}, stream.KromHCConfig{N: 4}, stream.HyperConfig{N: 3, Dynamic: true}, stream.VWNConfig{N: 3, M: 3}, stream.GatedResidualConfig{}} {
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
		for _, name := range []string{"mhc.phi", "hyper.w", "vwn.w", "gated.down"} {
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
