package ops_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/delta"
	"github.com/residua-go/residua/graph/ops/embedding"
	"github.com/residua-go/residua/graph/optest"
)

// deltaReadShape is the shape of a stream [tokens, n, d] in rows of seq tokens, and the number of
// taps of a filter.
type deltaReadShape struct {
	tokens, n, d, seq, taps int
	masked                  bool
}

func deltaReadCases() []optest.Case {
	var cases []optest.Case
	for _, s := range []deltaReadShape{
		{6, 2, 5, 6, 4, false}, {3, 2, 5, 3, 0, false}, {6, 3, 4, 3, 4, false}, {8, 2, 5, 4, 3, true}, {4, 1, 1, 2, 1, false}, {2, 2, 9, 1, 4, true},
		{5, 2, 3, 5, 0, true}, {7, 4, 17, 7, 2, false},
	} {
		cases = append(cases, s.cases()...)
	}
	return cases
}

// cases returns a read of all positions, and one of each selection.
func (s deltaReadShape) cases() []optest.Case {
	var cases []optest.Case
	for part, name := range []string{"", "own position of ", "earlier positions of "} {
		c := optest.Case{
			Name:     fmt.Sprintf("DeltaRead/%s%v taps=%d seq=%d masked=%t", name, []int{s.tokens, s.n, s.d}, s.taps, s.seq, s.masked),
			Floats:   [][]int{{s.tokens, s.n, s.d}, {s.n}},
			MayBeNil: []int{2, 3},
			Build: func(b *graph.Builder, x, ids gorgonia.Nodes) *gorgonia.Node {
				return delta.Read(b, x[0], x[1], s.options(x, ids, delta.Positions(part)))
			},
			Want: func(x [][]float64, ids [][]int32) []float64 { return s.want(x, ids, delta.Positions(part)) },
		}
		if s.taps > 0 {
			c.Floats = append(c.Floats, []int{s.taps, s.n, s.d})
		} else {
			c.MayBeNil = []int{2}
		}
		if s.masked {
			c.Ints = []optest.IntInput{{Shape: []int{s.tokens}, Draw: optest.StartsOf(s.seq)}}
		}
		cases = append(cases, c)
		if s.taps < 2 || s.seq < 2 {
			break
		}
	}
	return cases
}

func (s deltaReadShape) options(x, ids gorgonia.Nodes, part delta.Positions) delta.ReadOptions {
	o := delta.ReadOptions{Seq: s.seq, Part: part}
	if s.taps > 0 {
		o.Filter = x[2]
	}
	if s.masked {
		o.Starts = ids[0]
	}
	return o
}

// want computes the read by plain loops.
func (s deltaReadShape) want(x [][]float64, ids [][]int32, part delta.Positions) []float64 {
	u := make([]float64, s.tokens*s.d)
	for t := range s.tokens {
		for lag := 0; lag < max(1, s.taps) && lag <= t%s.seq; lag++ {
			hidden := part == delta.OwnPosition && lag > 0 || part == delta.EarlierPositions && lag == 0
			if hidden || s.masked && t%s.seq-lag < int(ids[0][t]) {
				continue
			}
			for e := range s.n * s.d {
				f := 1.0
				if s.taps > 0 {
					f = x[2][(s.taps-1-lag)*s.n*s.d+e]
				}
				u[t*s.d+e%s.d] += x[1][e/s.d] * f * x[0][(t-lag)*s.n*s.d+e]
			}
		}
	}
	return u
}

// deltaReadProgram reads rows of seq tokens at a time, [2*seq, 2, 3], with a filter of 4 taps.
func deltaReadProgram(t *testing.T, seq int, o graph.Options) *graph.Program {
	t.Helper()
	if o.DType == (tensor.Dtype{}) {
		o.DType = tensor.Float64
	}
	p, err := graph.Compile(graph.ProgramOptions{Options: o}, func(b *graph.Builder) (graph.Roots, error) {
		tokens := b.Input("tokens", tensor.Int32, 2, seq)
		table := b.Param(graph.ParamSpec{Name: "table", Shape: []int{9, 2, 3}, Init: graph.Normal(1)})
		r := b.Param(graph.ParamSpec{Name: "r", Shape: []int{2}, Init: graph.Normal(1)})
		f := b.Param(graph.ParamSpec{Name: "filter", Shape: []int{4, 2, 3}, Init: graph.Normal(1)})
		x := embedding.Gather(b, table, tokens, 1)
		return graph.Roots{Outputs: gorgonia.Nodes{delta.Read(b, x, r, delta.ReadOptions{Seq: seq, Filter: f})}}, b.Err()
	})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

func deltaReadTokens(t *testing.T, p *graph.Program, tokens ...int32) []float64 {
	t.Helper()
	copy(p.Input("tokens").Int32s(), tokens)
	require.NoError(t, p.Run(graph.RunOptions{}))
	return outputOf(t, p)
}

func outputOf(t *testing.T, p *graph.Program) []float64 {
	t.Helper()
	u, err := graph.Value(p.Roots().Outputs[0])
	require.NoError(t, err)
	return graph.Float64s(u)
}

// TestDeltaReadCached: tokens that come a few at a time are read as in one row, also after Reset.
func TestDeltaReadCached(t *testing.T) {
	const seq, d = 6, 3
	a, b := []int32{1, 2, 3, 4, 5, 6}, []int32{7, 8, 0, 2, 4, 6}
	want := deltaReadTokens(t, deltaReadProgram(t, seq, graph.Options{}), slices.Concat(a, b)...)
	for _, step := range []int{1, 2, 3} {
		cache, err := graph.NewCache(2, seq)
		require.NoError(t, err)
		p := deltaReadProgram(t, step, graph.Options{Cache: cache})
		for range 2 {
			cache.Reset()
			for first := 0; first < seq; first += step {
				got := deltaReadTokens(t, p, slices.Concat(a[first:first+step], b[first:first+step])...)
				require.Equal(t, want[first*d:][:step*d], got[:step*d], "row 0, token %d, %d at a time", first, step)
				require.Equal(t, want[(seq+first)*d:][:step*d], got[step*d:], "row 1, token %d, %d at a time", first, step)
			}
		}
	}
}
