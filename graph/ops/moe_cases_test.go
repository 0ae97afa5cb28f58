package ops_test

import (
	"math"
	"sort"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/ops/loss"
	"github.com/residua-go/residua/graph/ops/moe"
	"github.com/residua-go/residua/graph/optest"
)

// moeSizes are the sizes of a case; a token's entries may be a matrix.
type moeSizes struct {
	u                       []int
	experts, hidden, topK   int
	exact, bias, noGradient bool
	raw                     bool
}

func (s moeSizes) width() int { return optest.Product(s.u[1:]) }

func (s moeSizes) shapes() [][]int {
	shapes := [][]int{s.u, {s.width(), s.experts}, {s.experts, s.width(), s.hidden}, {s.experts, s.hidden, s.width()}}
	if s.bias {
		shapes = append(shapes, []int{s.experts, s.hidden}, []int{s.experts, s.width()})
	}
	return shapes
}

func (s moeSizes) build(b *graph.Builder, x gorgonia.Nodes) moe.Output {
	o := moe.Options{TopK: s.topK, ExactGelu: s.exact, RawGates: s.raw}
	if s.bias {
		o.B1, o.B2 = x[4], x[5]
	}
	return moe.Mixture(b, x[0], x[1], x[2], x[3], o)
}

func moeCases() []optest.Case {
	var cases []optest.Case
	for name, s := range map[string]moeSizes{
		"two of four":          {u: []int{5, 3}, experts: 4, hidden: 2, topK: 2},
		"biases, matrices":     {u: []int{5, 2, 3}, experts: 3, hidden: 5, topK: 2, bias: true},
		"raw gates":            {u: []int{5, 3}, experts: 4, hidden: 2, topK: 2, raw: true},
		"raw, biases":          {u: []int{3, 5}, experts: 40, hidden: 2, topK: 3, bias: true, raw: true},
		"raw, one":             {u: []int{7, 3}, experts: 5, hidden: 3, topK: 1, raw: true},
		"one, exact":           {u: []int{7, 3}, experts: 5, hidden: 3, topK: 1, exact: true},
		"one, biases":          {u: []int{3, 5}, experts: 3, hidden: 3, topK: 1, bias: true, exact: true},
		"all":                  {u: []int{5, 3}, experts: 3, hidden: 2, topK: 3},
		"one of one":           {u: []int{3, 2}, experts: 1, hidden: 3, topK: 1, noGradient: true}, // the router has no gradient
		"one token, most idle": {u: []int{1, 3}, experts: 7, hidden: 3, topK: 2, bias: true},
	} {
		cases = append(cases, optest.Case{Name: "MoE/" + name, Floats: s.shapes(), NoGradient: s.noGradient,
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return s.build(b, x).Y },
			Want:  func(x [][]float64, _ [][]int32) []float64 { return wantMoE(x, s).y }})
	}
	sort.Slice(cases, func(i, j int) bool { return cases[i].Name < cases[j].Name })
	return append(cases, routerLossCases()...)
}

// routerLossCases add an auxiliary loss to a loss of y.
func routerLossCases() []optest.Case {
	s := moeSizes{u: []int{7, 3}, experts: 4, hidden: 2, topK: 2}
	make := func(name string, aux func(m moe.Output) *gorgonia.Node, want func(w moeWanted) float64) optest.Case {
		return optest.Case{Name: "MoE/" + name, Floats: append(s.shapes(), []int{3, 5}), Ints: []optest.IntInput{{Shape: []int{7}, Draw: optest.Below(5)}},
			Build: func(b *graph.Builder, x, ids gorgonia.Nodes) *gorgonia.Node {
				m := s.build(b, x)
				return b.Add(loss.CrossEntropy(b, m.Y, x[4], ids[0], loss.Options{}), elementwise.Scale(b, aux(m), 0.7))
			},
			Want: func(x [][]float64, ids [][]int32) []float64 {
				w := wantMoE(x, s)
				loss, _ := optest.WantLoss(w.y, x[4], ids[0], 3, false, 1, 0, 0)
				return []float64{loss + 0.7*want(w)}
			}}
	}
	return []optest.Case{
		make("balance", moe.Output.Balance, func(w moeWanted) float64 { return w.balance }),
		make("router z", moe.Output.RouterZ, func(w moeWanted) float64 { return w.z }),
	}
}

// moeWanted is the result of wantMoE. gap is the smallest difference, over all tokens, between the
// logit of the last expert chosen and the best one not chosen.
type moeWanted struct {
	y          []float64
	balance, z float64
	counts     []float64
	gap        float64
}

// wantMoE computes a mixture by loops over tokens and experts.
func wantMoE(x [][]float64, s moeSizes) moeWanted {
	width, tokens := s.width(), s.u[0]
	w := moeWanted{counts: make([]float64, s.experts), gap: math.Inf(1)}
	logits := optest.WantLinear(x[:2], width, s.experts, linear.Options{})
	mean := make([]float64, s.experts)
	for t := range tokens {
		l, order := logits[t*s.experts:(t+1)*s.experts], make([]int, s.experts)
		var z float64
		for e := range order {
			order[e] = e
			z += math.Exp(l[e])
		}
		sort.SliceStable(order, func(i, j int) bool { return l[order[i]] > l[order[j]] })
		if s.topK < s.experts {
			w.gap = min(w.gap, l[order[s.topK-1]]-l[order[s.topK]])
		}
		var chosen float64
		for i, e := range order {
			mean[e] += math.Exp(l[e]) / z / float64(tokens)
			if i < s.topK {
				chosen += math.Exp(l[e])
				w.counts[e]++
			}
		}
		if s.raw || s.topK == 1 {
			chosen = z
		}
		y := make([]float64, width)
		for _, e := range order[:s.topK] {
			y = optest.WantAdd([][]float64{y, optest.WantScale(wantExpert(x, s, t, e), math.Exp(l[e])/chosen)}, nil)
		}
		w.y = append(w.y, y...)
		w.z += math.Log(z) * math.Log(z) / float64(tokens)
	}
	for e, n := range w.counts {
		w.balance += float64(s.experts) * mean[e] * n / float64(s.topK*tokens)
	}
	return w
}

// wantExpert computes E_e(u_t).
func wantExpert(x [][]float64, s moeSizes, t, e int) []float64 {
	width, size := s.width(), s.width()*s.hidden
	first := [][]float64{x[0][t*width : (t+1)*width], x[2][e*size : (e+1)*size]}
	if s.bias {
		first = append(first, x[4][e*s.hidden:(e+1)*s.hidden])
	}
	second := [][]float64{optest.WantGelu(optest.WantLinear(first, width, s.hidden, linear.Options{}), s.exact), x[3][e*size : (e+1)*size]}
	if s.bias {
		second = append(second, x[5][e*width:(e+1)*width])
	}
	return optest.WantLinear(second, s.hidden, width, linear.Options{})
}
