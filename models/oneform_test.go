package models_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// The tests of this file compare models on different streams that compute the same function where
// their designs coincide; see docs/oneform.md.

// onStore sets parameters of a model, which must exist, and reads those of another model.
type onStore struct {
	t         *testing.T
	own, from *graph.Store
}

func (s onStore) set(name string, values []float64) {
	s.t.Helper()
	p := s.own.Param(name)
	require.NotNil(s.t, p, name)
	require.Len(s.t, values, p.Size(), name)
	require.NoError(s.t, graph.SetFloat64s(p.Value, values))
}

func (s onStore) get(name string) []float64 {
	s.t.Helper()
	p := s.from.Param(name)
	require.NotNil(s.t, p, name)
	return graph.Float64s(p.Value)
}

// lastName returns the last part of a parameter's name.
func lastName(name string) string { return name[strings.LastIndex(name, ".")+1:] }

// each returns n entries, computed by of.
func each(n int, of func(i int) float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = of(i)
	}
	return values
}

// asHyper writes the weights of an RMT with one key per read into a model with static
// hyper-connections: n = Dk rows of D = Dv entries. A_m is the reading key, B is the writing key,
// and A_r = I. The query, key and value keys are multiples of one key by q, k and v, so that W_QKV
// = [qI | kI | vI]; W_O = I.
func asHyper(s onStore, n, d, blocks int) {
	s.set("embedding", s.get("embedding"))
	s.set("positions", s.get("positions"))
	s.set("norm", s.get("norm")[:d])
	s.set("unembedding", s.get("unembedding"))
	identity := func(i, j int) float64 { return map[bool]float64{true: 1}[i == j] }
	for l := range blocks {
		a, f := site(l, "attention"), site(l, "feedforward")
		keys := s.get(a + "read") // [3, 1, Dk]
		ways := []float64{1, keys[n] / keys[0], keys[2*n] / keys[0]}
		s.set(a+"qkv", each(3*d*d, func(i int) float64 { return ways[i%(3*d)/d] * identity(i/(3*d), i%d) }))
		s.set(a+"o", each(d*d, func(i int) float64 { return identity(i/d, i%d) }))
		s.set(f+"w1", s.get(f+"w1"))
		s.set(f+"w2", s.get(f+"w2"))
		for name, read := range map[string][]float64{a: keys[:n], f: s.get(f + "read")} {
			s.set(name+"norm", s.get(name + "norm")[:d])
			write := s.get(name + "write")
			var static []float64
			for i := range n {
				static = append(append(static, read[i]), each(n, func(k int) float64 { return identity(i, k) })...)
				static = append(static, write[i])
			}
			s.set(name+"hyper.static", static)
		}
	}
}

// TestRMTAsHyperConnections: an RMT whose sites read with one key equals a model with static
// hyper-connections, to the last digits of float64. With one row this holds for any norm. With
// several rows it holds where the norms only scale, because the RMT normalises all rows together
// before the read, and hyper-connections normalise what was read. With ordinary norms the two
// models differ.
func TestRMTAsHyperConnections(t *testing.T) {
	const d, blocks = 6, 2
	for name, row := range map[string]struct {
		n     int
		eps   float64
		small float64 // multiplies states and divides the gains of norms
		same  bool
	}{"one row": {1, 1e-6, 1, true}, "norms that scale": {4, 0.25, 1e-9, true}, "norms": {4, 1e-6, 1, false}} {
		t.Run(name, func(t *testing.T) {
			n := row.n
			vary := func(c *models.Config) {
				c.Norm, c.NormEps, c.FeedForward, c.Layers = models.NormRMS, row.eps, gelu(11), blocks
			}
			rmt := modeltest.Resolve(t, tinyMatrix(all(onStream(stream.MatrixConfig{Dk: n, Dv: d, Rank: 1}), vary)))
			hyper := modeltest.Resolve(t, tinyVector(all(onStream(stream.HyperConfig{Vectors: width(d), N: n}), vary, func(c *models.Config) { c.Attention.Heads = 1 })))
			theirs, ours := modeltest.PerturbedStore(t, rmt, tensor.Float64), modeltest.PerturbedStore(t, hyper, tensor.Float64)
			meetHyper(onStore{t, theirs, theirs}, row.n, row.small)
			asHyper(onStore{t, ours, theirs}, n, d, blocks)
			b := modeltest.RandomBatch(rmt, 2, rmt.Seq, 1)
			want := modeltest.Compile(t, rmt, theirs, modeltest.Setup{}).On(t, b, graph.RunOptions{}).Logits
			got := modeltest.Compile(t, hyper, ours, modeltest.Setup{}).On(t, b, graph.RunOptions{}).Logits
			if row.same {
				assert.LessOrEqual(t, modeltest.Distance(got, want), 1e-12)
			} else {
				assert.Greater(t, modeltest.Distance(got, want), 1e-3)
			}
		})
	}
}

// meetHyper gives an RMT the structure of hyper-connections: copies of the embedding in all rows,
// one mixture of rows for queries, keys and values, the sum of the rows at the end, and the same
// gains in each row. Where states are small compared with eps, a norm only scales, by its gain over
// the root of eps.
func meetHyper(s onStore, n int, small float64) {
	ones := each(n, func(int) float64 { return 1 })
	for _, name := range []string{"write_embedding", "write_positions", "read_unembedding"} {
		s.set(name, ones)
	}
	for _, p := range s.own.Params() {
		values := graph.Float64s(p.Value)
		switch shape := p.Shape; {
		case lastName(p.Name) == "norm": // [Dk, Dv]
			s.set(p.Name, each(len(values), func(i int) float64 { return values[i%shape[1]] / small }))
		case p.Name == "embedding" || p.Name == "positions" || lastName(p.Name) == "write":
			s.set(p.Name, each(len(values), func(i int) float64 { return values[i] * small }))
		case len(shape) == 3 && lastName(p.Name) == "read": // [3, 1, Dk]
			s.set(p.Name, each(len(values), func(i int) float64 { return values[i%n] * []float64{1, 0.7, -1.3}[i/n] }))
		}
	}
	if n == 1 { // one row is read as it is: its factor would be lost in the norm after it
		for _, p := range s.own.Params() {
			if lastName(p.Name) == "read" {
				first := graph.Float64s(p.Value)[0]
				s.set(p.Name, each(p.Size(), func(i int) float64 { return graph.Float64s(p.Value)[i] / first }))
			}
		}
	}
}

// TestHyperConnectionsAsVirtualWidth: dynamic hyper-connections equal a virtual width network with
// m = 1 at every site. Its factor for each coefficient is s_a or s_b, its projections are larger by
// sqrt(D), and its embedding holds copies for all rows. The models differ at the end, where the
// virtual width network normalises its groups before W_reduce, which sums the rows.
func TestHyperConnectionsAsVirtualWidth(t *testing.T) {
	const n, d = 3, 15
	rms := func(c *models.Config) { c.Norm = models.NormRMS }
	hyper := modeltest.Resolve(t, tinyZoo(stream.HyperConfig{N: n, Dynamic: true}, rms))
	wide := modeltest.Resolve(t, tinyZoo(stream.VWNConfig{N: n, M: 1}, rms))
	theirs, ours := modeltest.PerturbedStore(t, hyper, tensor.Float64), modeltest.PerturbedStore(t, wide, tensor.Float64)
	s := onStore{t, ours, theirs}
	for _, p := range theirs.Params() {
		if own := ours.Param(p.Name); own != nil && own.Size() == p.Size() {
			s.set(p.Name, graph.Float64s(p.Value))
		}
	}
	for _, table := range []string{"embedding", "positions"} {
		rows := s.get(table)
		s.set(table, each(n*len(rows), func(i int) float64 { return rows[i/(n*d)*d+i%d] }))
	}
	s.set("reduce", each(n*d*d, func(i int) float64 { return map[bool]float64{true: 1}[i/d%d == i%d] }))
	sites(hyper.Layers, func(prefix string) {
		from, to := prefix+"hyper.", prefix+"vwn."
		s.set(to+"static", s.get(from+"static"))
		s.set(to+"norm", s.get(from+"norm"))
		w, scale := s.get(from+"w"), s.get(from+"scale")
		s.set(to+"w", each(len(w), func(i int) float64 { return w[i] * math.Sqrt(d) }))
		s.set(to+"scale", each(n*(n+2), func(i int) float64 { return scale[map[bool]int{true: 1}[i%(n+2) == n+1]] }))
	})
	b := modeltest.RandomBatch(hyper, 2, hyper.Seq, 1)
	hooks := graph.Hooks{}
	for l := range hyper.Layers {
		hooks[fmt.Sprintf("blocks.%d.attention.stream", l)], hooks[fmt.Sprintf("blocks.%d.feedforward.stream", l)] = nil, nil
	}
	one, other := modeltest.Compile(t, hyper, theirs, modeltest.Setup{Hooks: hooks}), modeltest.Compile(t, wide, ours, modeltest.Setup{Hooks: hooks})
	want, got := one.On(t, b, graph.RunOptions{}).Logits, other.On(t, b, graph.RunOptions{}).Logits
	for name := range hooks {
		rows, err := one.Hooked(name)
		require.NoError(t, err)
		slots, err := other.Hooked(name)
		require.NoError(t, err)
		assert.LessOrEqual(t, modeltest.Distance(graph.Float64s(slots), graph.Float64s(rows)), 1e-12, name)
	}
	assert.Greater(t, modeltest.Distance(got, want), 1e-3, "the norm in front of W_reduce")
}
