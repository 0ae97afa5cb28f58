package ops_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/graph/ops/loss"
	"github.com/residua-go/residua/graph/optest"
)

func lossCases() []optest.Case {
	make := func(name string, x, w []int, draw func(*rand.Rand, int) int32, o loss.Options) optest.Case {
		return optest.Case{Name: "CrossEntropy/" + name, Floats: [][]int{x, w}, Ints: []optest.IntInput{{Shape: []int{x[0]}, Draw: draw}},
			Build: func(b *graph.Builder, x, ids gorgonia.Nodes) *gorgonia.Node {
				return loss.CrossEntropy(b, x[0], x[1], ids[0], o)
			},
			Want: func(v [][]float64, ids [][]int32) []float64 {
				loss, _ := optest.WantLoss(v[0], v[1], ids[0], optest.Product(x[1:]), o.Transposed, o.Scale, o.SoftCap, o.ZLoss)
				return []float64{loss}
			}}
	}
	cases := []optest.Case{
		make("plain", []int{3, 5}, []int{5, 7}, optest.Below(7), loss.Options{}),
		make("z-loss", []int{3, 5}, []int{5, 7}, optest.Below(7), loss.Options{ZLoss: 0.1}),
		make("transposed", []int{5, 2, 3}, []int{7, 2, 3}, optest.Below(7), loss.Options{Transposed: true}),
		make("ignored", []int{11, 3}, []int{3, 5}, optest.BelowOrIgnored(5), loss.Options{}),
		make("everything", []int{11, 3}, []int{5, 3}, optest.BelowOrIgnored(5), loss.Options{Transposed: true, Scale: 0.4, ZLoss: 0.2}),
		make("soft cap", []int{3, 5}, []int{5, 7}, optest.Below(7), loss.Options{SoftCap: 1.5}),
		make("everything, capped", []int{11, 3}, []int{5, 3}, optest.BelowOrIgnored(5), loss.Options{Transposed: true, Scale: 0.4, SoftCap: 0.7, ZLoss: 0.2}),
		make("one token", []int{1, 1}, []int{1, 2}, optest.Below(2), loss.Options{Scale: 2}),
	}
	for _, transposed := range []bool{false, true} {
		w := []int{3, 5}
		if transposed {
			w = []int{5, 3}
		}
		o := loss.Options{Transposed: transposed, Scale: 0.8}
		if transposed {
			o.SoftCap = 1.2
		}
		cases = append(cases, optest.Case{Name: fmt.Sprintf("TokenLosses/transposed=%t", transposed), Floats: [][]int{{7, 3}, w}, NoGradient: true,
			Ints: []optest.IntInput{{Shape: []int{7}, Draw: optest.BelowOrIgnored(5)}},
			Build: func(b *graph.Builder, x, ids gorgonia.Nodes) *gorgonia.Node {
				return loss.Tokens(b, x[0], x[1], ids[0], o)
			},
			Want: func(v [][]float64, ids [][]int32) []float64 {
				_, each := optest.WantLoss(v[0], v[1], ids[0], 3, o.Transposed, o.Scale, o.SoftCap, o.ZLoss)
				return each
			}})
	}
	return cases
}

// TestCrossEntropyScratch bounds the memory that the loss over GPT-2's vocabulary takes in addition
// to inputs and gradients: the logits of all tokens would take 412 MB.
func TestCrossEntropyScratch(t *testing.T) {
	if testing.Short() {
		t.Skip("100 million exponentials")
	}
	const tokens, vocab, features = 2048, 50257, 8
	p, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Threads: 2}, Gradients: true, Separate: true}, func(b *graph.Builder) (graph.Roots, error) {
		x := b.Param(graph.ParamSpec{Name: "x", Shape: []int{tokens, features}, Init: graph.Normal(1)})
		w := b.Param(graph.ParamSpec{Name: "w", Shape: []int{features, vocab}, Init: graph.Normal(1)})
		return graph.Roots{Loss: loss.CrossEntropy(b, x, w, b.Input("targets", tensor.Int32, tokens), loss.Options{ZLoss: 1e-4})}, nil
	})
	require.NoError(t, err)
	defer p.Close()
	taken := optest.AllocatedBy(func() { require.NoError(t, p.Run(graph.RunOptions{})) }) // the gradients lie in the Store
	t.Logf("%.1f MB beyond inputs and gradients", float64(taken)/1e6)
	logits := kernel.CrossEntropyBytes(tokens, vocab, 4)
	require.Less(t, logits, 412_000_000/4)
	require.InDelta(t, logits, taken, 2e6, "the bytes that a plan counts")
}
