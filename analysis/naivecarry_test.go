package analysis_test

import (
	"reflect"
	"strings"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// carry is what becomes of a write, by unit vectors [in, out].
func (n *naive) carry(writer, reader string, in, out int) *mat.Dense {
	site, _ := siteOf(writer)
	to, rest := siteOf(reader)
	if _, via := splitVia(rest); via >= 0 && waysOf(n.c, n.store, to) {
		to += rest[len(rest)-2:]
	}
	if n.run == nil {
		return n.plain(site, to, in, out)
	}
	return n.byUnits(site, to, in, out)
}

// byUnits is what the frozen stream carries of unit vectors.
func (n *naive) byUnits(site, to string, in, out int) *mat.Dense {
	if site == "embedding" {
		site = "embedding.tokens"
	}
	if site == "positions" {
		site = "embedding.positions"
	}
	if known := n.maps[site+" "+to]; known != nil {
		return known
	}
	m := mat.NewDense(in, out, nil)
	for i := range in {
		unit := make([]float64, in)
		unit[i] = 1
		if scale := n.store.Param(site + ".scale"); scale != nil { // which n.out has
			unit[i] /= graph.Float64s(scale.Value)[i]
		}
		if latents(n.store) && strings.HasPrefix(site, "blocks.") { // n.out has the map up: what is left is the identity
			m.Set(i, i, 1)
			continue
		}
		for token := range n.frozen.Tokens() {
			for j, v := range n.carried(site, to, token, unit) {
				m.Set(i, j%out, m.At(i, j%out)+v/float64(n.frozen.Tokens())) // the end's rows are added up
			}
		}
	}
	n.maps[site+" "+to] = m
	return m
}

func (n *naive) carried(site, to string, token int, y []float64) []float64 {
	if to != "unembedding" {
		x, err := n.frozen.CarryTo(site, to, token, y)
		require.NoError(n.t, err)
		return x
	}
	x, err := n.frozen.Carry(site, token, y)
	require.NoError(n.t, err)
	if read := n.design("End"); read.IsValid() {
		return read.Interface().(func(int, []float64) []float64)(token, x)
	}
	return x
}

// design is the method of naive that is one design's own, "StaticKeel" or "EndWide", in the test
// file of that design; the zero value if there is none.
func (n *naive) design(method string) reflect.Value {
	name := strings.TrimSuffix(reflect.TypeOf(n.c.Stream).Name(), "Config")
	return reflect.ValueOf(n).MethodByName(method + name)
}

// plain is carry without a run: what the design's own method says, the identity where the design's
// file says so, and for other designs the linear form that the stream has without a run, of which
// virtual weights are then products.
func (n *naive) plain(site, to string, in, out int) *mat.Dense {
	m := mat.NewDense(in, out, nil)
	for i := range in {
		for j := range out {
			if i == j || j%in == i {
				m.Set(i, j, 1)
			}
		}
	}
	if static := n.design("Static"); static.IsValid() {
		return static.Interface().(func(string, string, *mat.Dense) *mat.Dense)(site, to, m)
	}
	if on[stream.VectorConfig](n.c) || rowsOfDesigns(n.t)[n.c.Stream.Name()].Static == "identity" {
		return m
	}
	return n.static(site, to, in, out)
}

// static is carry by a stream's linear form without a run.
func (n *naive) static(site, to string, in, out int) *mat.Dense {
	if n.frozen == nil {
		m, err := models.New(gorgonia.NewGraph(), n.c, graph.Options{Store: n.store, DType: n.store.DType()})
		require.NoError(n.t, err)
		n.frozen = m.Stream().(stream.Weighted).Static()
	}
	return n.byUnits(site, to, in, out)
}

func sized(m *mat.Dense, by float64) *mat.Dense {
	var all mat.Dense
	all.Scale(by, m)
	return &all
}

func plus(a, b *mat.Dense) *mat.Dense {
	var sum mat.Dense
	sum.Add(a, b)
	return &sum
}
