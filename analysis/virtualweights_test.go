package analysis_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/analysis/cache"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// TestVirtualWeightsAgainstNumpy: norms and scores of all pairs are numpy's.
func TestVirtualWeightsAgainstNumpy(t *testing.T) {
	var want struct {
		Weights []struct {
			Writer string  `json:"writer"`
			Reader string  `json:"reader"`
			Norm   float64 `json:"norm"`
			Score  float64 `json:"score"`
		} `json:"virtual_weights"`
	}
	numpy(t, &want)
	p := gpt2(t)
	wiring, err := analysis.Wire(p.Store, p.Model, analysis.WiringOptions{Draws: 2})
	require.NoError(t, err)
	require.Len(t, want.Weights, wiring.Pairs)
	for i, w := range want.Weights {
		row, column := slices.Index(wiring.Scores.Rows, w.Writer), slices.Index(wiring.Scores.Columns, w.Reader)
		require.InEpsilon(t, w.Score, wiring.Scores.Values[row][column], 1e-9, "%s to %s", w.Writer, w.Reader)
		if i%7 > 0 {
			continue
		}
		v, err := analysis.Connect(p.Store, p.Model, w.Writer, w.Reader, nil)
		require.NoError(t, err)
		assert.InEpsilon(t, w.Norm, v.Norm, 1e-9)
		assert.InEpsilon(t, w.Score, v.Score, 1e-9)
		m, err := v.Matrix()
		require.NoError(t, err)
		assert.InEpsilon(t, w.Norm, mat.Norm(m, 2), 1e-9)
	}
}

// naive makes virtual weights of explicit matrices.
type naive struct {
	t     *testing.T
	store *graph.Store
	c     models.Config
	run   *cache.Cache // or nil
	held  *stream.Held
	maps  map[string]*mat.Dense
}

func newNaive(t *testing.T, store *graph.Store, c models.Config, run *cache.Cache) *naive {
	n := &naive{t: t, store: store, c: c.Resolve(), run: run, maps: map[string]*mat.Dense{}}
	if run != nil {
		held, err := run.Model().Stream().(stream.Additive).Hold(run)
		require.NoError(t, err)
		n.held = held
	}
	return n
}

func (n *naive) norm(name string) *mat.Dense {
	return normMatrix(graph.Float64s(n.store.Param(name).Value), n.c.Norm == models.NormLayer)
}

func (n *naive) param(name string) *mat.Dense {
	return parameter(n.t, n.store, name, n.store.Param(name).Shape[0])
}

// site is "blocks.1.attention" of "blocks.1.attention.0.q"; the rest is "0.q".
func siteOf(name string) (site, rest string) {
	parts := strings.SplitN(name, ".", 4)
	if len(parts) < 3 {
		return name, ""
	}
	if len(parts) == 4 {
		rest = parts[3]
	}
	return strings.Join(parts[:3], "."), rest
}

// out are the rows along which a writer writes.
func (n *naive) out(name string) *mat.Dense {
	site, head := siteOf(name)
	switch {
	case name == "embedding" || name == "positions":
		return n.param(name)
	case head != "":
		dh := n.c.HeadDim()
		var h int
		_, err := fmt.Sscan(head, &h)
		require.NoError(n.t, err)
		return mat.DenseCopyOf(n.param(site+".o").Slice(h*dh, (h+1)*dh, 0, n.c.DModel))
	case strings.HasSuffix(site, "aggregate"):
		if !n.c.SeparateAggregates {
			site = "aggregate"
		}
		return n.param(site + ".w2")
	}
	w := parameter(n.t, n.store, site+".w2", max(1, n.c.Experts)*n.c.FF)
	return w
}

// in are the columns with which a reader reads.
func (n *naive) in(name string) *mat.Dense {
	site, rest := siteOf(name)
	switch {
	case name == "unembedding":
		return n.unembedding()
	case rest != "":
		var h int
		var via rune
		_, err := fmt.Sscanf(rest, "%d.%c", &h, &via)
		require.NoError(n.t, err)
		dh := n.c.HeadDim()
		from := (strings.IndexRune("qkv", via)*n.c.Heads + h) * dh
		return times(n.norm(site+".norm"), n.param(site+".qkv").Slice(0, n.c.DModel, from, from+dh))
	case n.c.Experts > 0:
		all := &mat.Dense{}
		w := parameter(n.t, n.store, site+".w1", n.c.Experts*n.c.DModel)
		for e := range n.c.Experts {
			each := w.Slice(e*n.c.DModel, (e+1)*n.c.DModel, 0, n.c.FF)
			if e == 0 {
				all = mat.DenseCopyOf(each)
				continue
			}
			var wider mat.Dense
			wider.Augment(all, each)
			all = &wider
		}
		return times(n.norm(site+".norm"), all)
	}
	return times(n.norm(site+".norm"), n.param(site+".w1"))
}

func (n *naive) unembedding() *mat.Dense {
	var w *mat.Dense
	if n.c.TieEmbeddings {
		w = mat.DenseCopyOf(n.param("embedding").T())
	} else {
		w = n.param("unembedding")
	}
	switch n.c.Stream {
	case models.StreamHierAgg:
		return w
	case models.StreamVWN:
		w = times(parameter(n.t, n.store, "reduce", n.c.StreamSize()), n.norm("norm"), w)
		if p := n.store.Param("group_norm"); p != nil {
			gain, d := graph.Float64s(p.Value), n.c.DModel
			groups := mat.NewDense(len(gain), len(gain), nil)
			for i := 0; i < len(gain); i += d {
				groups.Slice(i, i+d, i, i+d).(*mat.Dense).Copy(normMatrix(gain[i:][:d], true))
			}
			w = times(groups, w)
		}
		return w
	}
	return times(n.norm("norm"), w)
}

// carry is what becomes of a write, by unit vectors [in, out].
func (n *naive) carry(writer, reader string, in, out int) *mat.Dense {
	site, _ := siteOf(writer)
	to, _ := siteOf(reader)
	if n.run == nil {
		return n.plain(site, to, in, out)
	}
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
		for token := range n.held.Tokens() {
			for j, v := range n.carried(site, to, token, unit) {
				m.Set(i, j%out, m.At(i, j%out)+v/float64(n.held.Tokens())) // the end's rows are added up
			}
		}
	}
	n.maps[site+" "+to] = m
	return m
}

func (n *naive) carried(site, to string, token int, y []float64) []float64 {
	var x []float64
	var err error
	if to == "unembedding" {
		x, err = n.held.Carry(site, token, y)
	} else {
		x, err = n.held.CarryTo(site, to, token, y)
	}
	require.NoError(n.t, err)
	return x
}

// plain is carry without a run.
func (n *naive) plain(site, to string, in, out int) *mat.Dense {
	m := mat.NewDense(in, out, nil)
	for i := range in {
		for j := range out {
			if i == j || j%in == i {
				m.Set(i, j, 1)
			}
		}
	}
	if (site == "embedding" || site == "positions") && n.c.ExpandEmbedding {
		wide := mat.NewDense(n.c.StreamSize(), out, nil)
		for i := range min(out, n.c.StreamSize()) {
			wide.Set(i, i, 1)
		}
		return times(n.param("expand"), wide)
	}
	if n.c.Stream == models.StreamHierAgg {
		for l := 1; l < n.c.Layers; l += 2 {
			if position(site) <= 10*l+5 && 10*l+5 < position(to) {
				name := "aggregate.norm"
				if n.c.SeparateAggregates {
					name = fmt.Sprintf("blocks.%d.aggregate.norm", l)
				}
				m = times(m, n.norm(name))
			}
		}
	}
	return m
}

// position sorts sites in the order of the run.
func position(site string) int {
	var block int
	switch site {
	case "embedding", "positions":
		return -1
	case "unembedding":
		return math.MaxInt
	}
	_, _ = fmt.Sscanf(site, "blocks.%d.", &block)
	for i, kind := range []string{"attention", "feedforward", "aggregate"} {
		if strings.HasSuffix(site, kind) {
			return 10*block + []int{1, 2, 5}[i]
		}
	}
	return 0
}

// TestVirtualWeightsOfEveryStream compares all pairs with explicit matrices, what CarryTo
// makes of unit vectors among them.
func TestVirtualWeightsOfEveryStream(t *testing.T) {
	for name, c := range zoo() {
		if c.Stream == models.StreamDWLSTM || c.Stream == models.StreamMatrix {
			continue
		}
		t.Run(name, func(t *testing.T) {
			run, _ := decompose(t, c, tensor.Float64)
			store := run.Model().Store()
			for _, r := range []*cache.Cache{nil, run} {
				wiring, err := analysis.Wire(store, c, analysis.WiringOptions{Run: r, Draws: 2})
				require.NoError(t, err)
				requireResult(t, wiring)
				n := newNaive(t, store, c, r)
				for i, writer := range wiring.Scores.Rows {
					for j, reader := range wiring.Scores.Columns {
						n.check(wiring, i, j, writer, reader)
					}
				}
			}
		})
	}
}

// check compares one pair.
func (n *naive) check(wiring *analysis.Wiring, i, j int, writer, reader string) {
	from, _ := siteOf(writer)
	to, _ := siteOf(reader)
	score := wiring.Scores.Values[i][j]
	if position(from) >= position(to) {
		require.True(n.t, math.IsNaN(score), "%s to %s", writer, reader)
		return
	}
	out, in := n.out(writer), n.in(reader)
	_, width := out.Dims()
	wide, _ := in.Dims()
	m := n.carry(writer, reader, width, wide)
	weights := times(out, m, in)
	size := mat.Norm(m, 2) / math.Sqrt(float64(wide))
	strength := mat.Norm(weights, 2) / (mat.Norm(out, 2) * mat.Norm(in, 2))
	require.InEpsilon(n.t, strength/size, score, 1e-8, "%s to %s", writer, reader)
	if (i+j)%29 > 0 {
		return
	}
	v, err := analysis.Connect(n.store, n.c, writer, reader, n.run)
	require.NoError(n.t, err)
	got, err := v.Matrix()
	require.NoError(n.t, err)
	require.True(n.t, mat.EqualApprox(weights, got, 1e-9*mat.Norm(weights, 2)), "%s to %s", writer, reader)
	require.InEpsilon(n.t, strength, v.Strength, 1e-8)
	require.InEpsilon(n.t, size, v.Carry, 1e-8)
	requireResult(n.t, v)
}

// TestFullCircuitsFollowTheStream: on their way from the embedding and to the end the full
// circuits go through what a run made of the stream.
func TestFullCircuitsFollowTheStream(t *testing.T) {
	for _, name := range []string{"hyper/dynamic", "mhc", "vwn", "vwn/expand", "hieragg/dou"} {
		t.Run(name, func(t *testing.T) {
			c := zoo()[name]
			c.HeadSize = 2
			run, _ := decompose(t, c, tensor.Float64)
			store := run.Model().Store()
			for _, r := range []*cache.Cache{nil, run} {
				circuits, err := analysis.FindCircuits(store, c, analysis.CircuitOptions{Run: r})
				require.NoError(t, err)
				n := newNaive(t, store, c, r)
				for _, h := range circuits.Heads {
					q, k, v := n.in(h.Name()+".q"), n.in(h.Name()+".k"), n.in(h.Name()+".v")
					embedding, unembedding := n.param("embedding"), n.unembedding()
					_, width := embedding.Dims()
					wide, _ := unembedding.Dims()
					in := n.carry("embedding", h.Name(), width, c.DModel)
					out := n.carry(h.Name(), "unembedding", c.DModel, wide)
					requireSpectrum(t, times(embedding, in, v, n.out(h.Name()), out, unembedding), *h.FullOV, h.Name())
					requireSpectrum(t, times(embedding, in, q, k.T(), in.T(), embedding.T()), *h.FullQK, h.Name())
				}
			}
		})
	}
}

// TestVirtualWeightsOfKeys: a matrix stream's are products of keys.
func TestVirtualWeightsOfKeys(t *testing.T) {
	m := newRMT(t)
	keys := func(name string, from int, norm string) *mat.Dense {
		w := mat.NewDense(m.c.Rank, m.c.Dk, nil)
		for r := range m.c.Rank {
			w.SetRow(r, mat.Row(nil, 0, m.key(name, from+r, norm)))
		}
		return w
	}
	read := func(site string, i int) *mat.Dense { return keys(site+".read", i*m.c.Rank, site+".norm") }
	for _, pair := range []struct {
		writer, reader string
		out, in        *mat.Dense
	}{
		{"embedding", "blocks.0.attention.k", keys("write_embedding", 0, ""), read("blocks.0.attention", 1)},
		{"positions", "blocks.1.feedforward", keys("write_positions", 0, ""), read("blocks.1.feedforward", 0)},
		{"blocks.0.attention", "blocks.0.feedforward", keys("blocks.0.attention.write", 0, ""), read("blocks.0.feedforward", 0)},
		{"blocks.0.feedforward", "blocks.1.attention.v", keys("blocks.0.feedforward.write", 0, ""), read("blocks.1.attention", 2)},
		{"blocks.1.feedforward", "unembedding", keys("blocks.1.feedforward.write", 0, ""), keys("read_unembedding", 0, "norm")},
		{"blocks.0.attention.1", "blocks.1.attention.2.q", m.key("blocks.0.attention.write", 1, ""), m.key("blocks.1.attention.read", 2, "blocks.1.attention.norm")},
	} {
		v, err := analysis.Connect(m.store, m.c, pair.writer, pair.reader, nil)
		require.NoError(t, err)
		got, err := v.Matrix()
		require.NoError(t, err)
		want := times(pair.out, pair.in.T())
		requireEqual(t, want, got)
		assert.InEpsilon(t, mat.Norm(want, 2)/(mat.Norm(pair.out, 2)*mat.Norm(pair.in, 2)), v.Score, 1e-12)
		// The same of the matrices on all Dk*Dv entries, with one Dv times in each norm.
		whole := mat.Norm(times(m.whole(pair.out), m.whole(pair.in).T()), 2) / (mat.Norm(m.whole(pair.out), 2) * mat.Norm(m.whole(pair.in), 2))
		assert.InEpsilon(t, whole*math.Sqrt(float64(m.c.Dv)), v.Score, 1e-12)
		requireResult(t, v)
	}
}

// TestConnectErrors: what a call can get wrong is one line.
func TestConnectErrors(t *testing.T) {
	c := zoo()["vector"]
	store := modeltest.PerturbedStore(t, c, tensor.Float32)
	_, err := analysis.Connect(store, c, "blocks.1.attention.0", "blocks.0.attention.0.q", nil)
	assert.EqualError(t, err, "analysis: want a reader that comes behind blocks.1.attention.0, got blocks.0.attention.0.q: it has read the stream by then")
	_, err = analysis.Connect(store, c, "blocks.1.atention.0", "unembedding", nil)
	assert.EqualError(t, err, `analysis: no writer "blocks.1.atention.0"; did you mean blocks.1.attention.0?`)
	_, err = analysis.Connect(store, c, "embedding", "blocks.0.attention.3.q", nil)
	assert.ErrorContains(t, err, `analysis: no reader "blocks.0.attention.3.q"; did you mean blocks.0.attention.`)
	lstm := zoo()["dwlstm"]
	_, err = analysis.Connect(modeltest.NewStore(t, lstm, tensor.Float32, 0), lstm, "embedding", "unembedding", nil)
	assert.ErrorContains(t, err, "analysis: wiring: stream dwlstm does not have it; it has ")
	f, err := analysis.Fold(store, c)
	require.NoError(t, err)
	assert.Contains(t, f.Writers(), "blocks.3.attention")
	assert.Contains(t, f.Writers(), "blocks.3.attention.2")
	assert.Contains(t, f.Readers(), "blocks.3.attention.2.v")
	assert.Len(t, f.Writers(), 2+c.Layers*(c.Heads+2))
	assert.Len(t, f.Readers(), 1+c.Layers*(3*c.Heads+3+1))
}
