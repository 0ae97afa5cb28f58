package ops_test

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/readwrite"
	"github.com/residua-go/residua/graph/optest"
)

// tokenKeysCases returns the cases of ReadEach and WriteEach.
func tokenKeysCases() []optest.Case {
	var cases []optest.Case
	for _, s := range []struct{ tokens, dk, dv, m int }{{3, 5, 7, 2}, {2, 7, 3, 9}, {1, 1, 1, 1}, {4, 8, 16, 24}} {
		x, c, y := []int{s.tokens, s.dk, s.dv}, []int{s.tokens, s.dk, s.m}, []int{s.tokens, s.m * s.dv}
		cases = append(cases,
			optest.Case{Name: fmt.Sprintf("ReadEach/%v %v", x, c), Floats: [][]int{x, c},
				Build: func(b *graph.Builder, n, _ gorgonia.Nodes) *gorgonia.Node { return readwrite.ReadEach(b, n[0], n[1]) },
				Want:  func(v [][]float64, _ [][]int32) []float64 { return wantReadEach(v[0], v[1], s.tokens, s.dk, s.m) }},
			optest.Case{Name: fmt.Sprintf("ReadEach/twice %v %v", x, c), Floats: [][]int{x, c, c},
				Build: func(b *graph.Builder, n, _ gorgonia.Nodes) *gorgonia.Node {
					return b.Add(readwrite.ReadEach(b, n[0], n[1]), readwrite.ReadEach(b, n[0], n[2]))
				}},
			optest.Case{Name: fmt.Sprintf("WriteEach/%v %v", x, c), MayBeNil: []int{2}, Floats: [][]int{c, y, x},
				Build: func(b *graph.Builder, n, _ gorgonia.Nodes) *gorgonia.Node {
					return readwrite.WriteEach(b, n[2], n[0], n[1])
				},
				Want: func(v [][]float64, _ [][]int32) []float64 { return wantWriteEach(v, s.tokens, s.dk, s.m) }},
			optest.Case{Name: fmt.Sprintf("StoreEach/%v %v", x, c), Floats: [][]int{c, y},
				Build: func(b *graph.Builder, n, _ gorgonia.Nodes) *gorgonia.Node {
					return readwrite.WriteEach(b, nil, n[0], n[1])
				},
				Want: func(v [][]float64, _ [][]int32) []float64 { return wantWriteEach(v, s.tokens, s.dk, s.m) }})
	}
	return cases
}

// wantReadEach computes y = C^T X for each token, with its keys C [dk, m], by transposing C and
// calling wantStreamRead.
func wantReadEach(x, c []float64, tokens, dk, m int) []float64 {
	var y []float64
	size := len(x) / tokens
	for t := range tokens {
		y = append(y, wantStreamRead(x[t*size:(t+1)*size], turned(c[t*dk*m:(t+1)*dk*m], dk, m), dk, size/dk)...)
	}
	return y
}

// wantWriteEach takes keys [tokens, dk, m], y and optionally the stream.
func wantWriteEach(in [][]float64, tokens, dk, m int) []float64 {
	var out []float64
	for t := range tokens {
		var one [][]float64
		for _, all := range in {
			size := len(all) / tokens
			one = append(one, all[t*size:(t+1)*size])
		}
		one[0] = turned(one[0], dk, m)
		out = append(out, wantStreamWrite(one, dk, 1)...)
	}
	return out
}

// turned returns the transpose of x [rows, columns].
func turned(x []float64, rows, columns int) []float64 {
	var y []float64
	for j := range columns {
		for i := range rows {
			y = append(y, x[i*columns+j])
		}
	}
	return y
}
