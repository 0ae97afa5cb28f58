package ops_test

import (
	"fmt"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/delta"
	"github.com/residua-go/residua/graph/optest"
)

// convolveCases are convolutions of vectors and of rows of vectors, with and without documents.
func convolveCases() (cases []optest.Case) {
	for _, s := range []struct {
		x         []int
		seq, taps int
		masked    bool
		first     int // the first entry that is convolved
		entries   int // how many are; 0: all
	}{{[]int{6, 5}, 6, 4, false, 0, 0}, {[]int{6, 2, 4}, 3, 4, false, 0, 0}, {[]int{8, 9}, 4, 3, true, 0, 0}, {[]int{3, 7}, 3, 1, false, 0, 0},
		{[]int{7, 17}, 7, 2, true, 0, 0}, {[]int{2, 4}, 1, 4, false, 0, 0}, {[]int{24, 9}, 12, 4, false, 3, 6}, {[]int{24, 2, 20}, 12, 3, true, 5, 18}, {[]int{6, 8}, 3, 4, false, 0, 3}} {
		width := 1
		for _, n := range s.x[1:] {
			width *= n
		}
		entries := s.entries
		if entries == 0 {
			entries = width
		}
		c := optest.Case{Name: fmt.Sprintf("Convolve/%v taps=%d seq=%d masked=%t first=%d", s.x, s.taps, s.seq, s.masked, s.first),
			Floats: [][]int{s.x, {s.taps, entries}}, MayBeNil: []int{2},
			Build: func(b *graph.Builder, x, ids gorgonia.Nodes) *gorgonia.Node {
				o := delta.ReadOptions{Seq: s.seq, Filter: x[1], First: s.first}
				if s.masked {
					o.Starts = ids[0]
				}
				return delta.Convolve(b, x[0], o)
			},
			Want: func(x [][]float64, ids [][]int32) []float64 {
				y := append([]float64(nil), x[0]...)
				for t := range s.x[0] {
					first := 0
					if s.masked {
						first = int(ids[0][t])
					}
					for lag := 0; lag < s.taps && t%s.seq-lag >= first; lag++ {
						for i := range entries {
							y[t*width+s.first+i] += x[1][(s.taps-1-lag)*entries+i] * x[0][(t-lag)*width+s.first+i]
						}
					}
				}
				return y
			}}
		if s.masked {
			c.Ints = []optest.IntInput{{Shape: []int{s.x[0]}, Draw: optest.StartsOf(s.seq)}}
		}
		cases = append(cases, c)
	}
	return cases
}

func TestConvolveErrors(t *testing.T) {
	in := func(filter ...int) error {
		b := graph.On(gorgonia.NewGraph(), graph.Options{})
		delta.Convolve(b, b.Input("x", tensor.Float32, 6, 2, 4), delta.ReadOptions{Seq: 3, Filter: b.Input("f", tensor.Float32, filter...)})
		return b.Err()
	}
	optest.RequireLine(t, in(4, 9), "filter: want shape [taps, 1 to 8] for entries 0 and on of x (6, 2, 4), got (4, 9)")
	optest.RequireLine(t, in(8), "filter: want shape [taps, 1 to 8] for entries 0 and on of x (6, 2, 4), got (8)")
}
