package analysis_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/analysis/cache"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// naive makes virtual weights of explicit matrices.
type naive struct {
	t      *testing.T
	store  *graph.Store
	c      models.Spec
	run    *cache.Cache // or nil
	frozen *stream.Frozen
	maps   map[string]*mat.Dense
}

func newNaive(t *testing.T, store *graph.Store, c models.Spec, run *cache.Cache) *naive {
	n := &naive{t: t, store: store, c: c, run: run, maps: map[string]*mat.Dense{}}
	if run != nil {
		frozen, err := run.Model().Stream().(stream.Additive).Freeze(run)
		require.NoError(t, err)
		n.frozen = frozen
	}
	return n
}

// norm is that of a parameter; gated residuals, which have none, leave what is read as it is.
func (n *naive) norm(name string) *mat.Dense {
	if on[stream.GatedResidualConfig](n.c) {
		one := make([]float64, n.c.Width())
		for i := range one {
			one[i] = 1
		}
		return normMatrix(one, false)
	}
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
		return mat.DenseCopyOf(n.param(site+".o").Slice(h*dh, (h+1)*dh, 0, n.c.Width()))
	case strings.HasSuffix(site, "aggregate"):
		if !settingsOf[stream.HieraggConfig](n.c).Separate {
			site = "aggregate"
		}
		return n.param(site + ".w2")
	}
	w := parameter(n.t, n.store, site+".w2", expertCount(n.c)*hidden(n.c))
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
		from := (strings.IndexRune("qkv", via)*n.c.HeadCount() + h) * dh
		return times(n.attentionNorm(site, strings.IndexRune("qkv", via)), n.param(site+".qkv").Slice(0, n.c.Width(), from, from+dh))
	case n.c.FeedForwardShape().Experts > 0:
		all := &mat.Dense{}
		w := parameter(n.t, n.store, site+".w1", n.c.FeedForwardShape().Experts*n.c.Width())
		for e := range n.c.FeedForwardShape().Experts {
			each := w.Slice(e*n.c.Width(), (e+1)*n.c.Width(), 0, hidden(n.c))
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
	all := n.param(site + ".w1")
	if n.store.Param(site+".w3") != nil {
		all = sideBySide([]*mat.Dense{all, n.param(site + ".w3")})
	}
	return times(n.norm(site+".norm"), all)
}

func (n *naive) unembedding() *mat.Dense {
	var w *mat.Dense
	if n.c.TieEmbeddings {
		w = mat.DenseCopyOf(n.param("embedding").T())
	} else {
		w = n.param("unembedding")
	}
	switch n.c.Stream.(type) {
	case stream.HieraggConfig:
		return w
	case stream.VWNConfig:
		w = times(parameter(n.t, n.store, "reduce", n.c.StreamSize()), n.norm("norm"), w)
		if p := n.store.Param("group_norm"); p != nil {
			gain, d := graph.Float64s(p.Value), n.c.Width()
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
	to, rest := siteOf(reader)
	if _, via := splitVia(rest); via >= 0 && waysOf(n.c, n.store, to) {
		to += rest[len(rest)-2:]
	}
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
	var x []float64
	var err error
	if to == "unembedding" {
		x, err = n.frozen.Carry(site, token, y)
		if err == nil && on[stream.GatedResidualConfig](n.c) {
			return n.readOut(token, x)
		}
	} else {
		x, err = n.frozen.CarryTo(site, to, token, y)
	}
	require.NoError(n.t, err)
	return x
}

// readOut is what a stream whose features are a read of their own makes of its end.
func (n *naive) readOut(token int, x []float64) []float64 {
	end, err := n.run.Get(n.run.Model().Stream().(stream.Additive).Output())
	require.NoError(n.t, err)
	out, err := n.frozen.Readout(end.Values)
	require.NoError(n.t, err)
	features, err := out.Features(token, x)
	require.NoError(n.t, err)
	return features
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
	if (site == "embedding" || site == "positions") && settingsOf[stream.VWNConfig](n.c).Expand {
		wide := mat.NewDense(n.c.StreamSize(), out, nil)
		for i := range min(out, n.c.StreamSize()) {
			wide.Set(i, i, 1)
		}
		return times(n.param("expand"), wide)
	}
	if on[stream.GatedResidualConfig](n.c) { // by gates of 1/2 of rows that are alike
		name, rows := "gated.norm", settingsOf[stream.GatedResidualConfig](n.c).N
		if to != "unembedding" {
			name = to + "." + name
		}
		m.Zero()
		for i, gain := range graph.Float64s(n.store.Param(name).Value) {
			m.Set(i%out, i%out, m.At(i%out, i%out)+gain/float64(2*rows))
		}
	}
	if on[stream.DenseFormerConfig](n.c) {
		m.Scale(n.averaged(site, to), m)
	}
	if on[stream.MUDDConfig](n.c) {
		m.Scale(n.connected(site, to), m)
	}
	if on[stream.DeepDeltaConfig](n.c) {
		m = times(m, n.compressed(to, out))
	}
	if on[stream.HieraggConfig](n.c) {
		for l := 1; l < n.c.Layers; l += 2 {
			if position(site) <= 10*l+5 && 10*l+5 < position(to) {
				name := "aggregate.norm"
				if settingsOf[stream.HieraggConfig](n.c).Separate {
					name = fmt.Sprintf("blocks.%d.aggregate.norm", l)
				}
				m = times(m, n.norm(name))
			}
		}
	}
	return m
}

// compressed is what a read makes of rows that are alike, at their own position.
func (n *naive) compressed(to string, d int) mat.Matrix {
	name, block := "compress", 0
	if _, err := fmt.Sscanf(to, "blocks.%d.", &block); err == nil {
		name = fmt.Sprintf("blocks.%d.compress", block)
	}
	factors := slices.Repeat([]float64{1}, d)
	if r := n.store.Param(name + ".read"); r != nil {
		factors = make([]float64, d)
		filter := graph.Float64s(n.store.Param(name + ".conv").Value)
		for c, weight := range graph.Float64s(r.Value) {
			floats.AddScaled(factors, weight, filter[len(filter)-(r.Size()-c)*d:][:d])
		}
	}
	return mat.NewDiagDense(d, factors)
}

// averaged is what depth-weighted averages make of 1 that a site writes, where another reads.
func (n *naive) averaged(site, to string) float64 {
	wrote, reads := -1, n.c.Layers // blocks
	_, _ = fmt.Sscanf(site, "blocks.%d.", &wrote)
	_, _ = fmt.Sscanf(to, "blocks.%d.", &reads)
	written := func(block int) float64 { return map[bool]float64{true: 1}[block == wrote] }
	x := []float64{written(-1)} // X_0 to X_i
	y := x[0]
	for i := 1; i <= reads; i++ {
		y += written(i - 1)
		x = append(x, y)
		if p := n.store.Param(fmt.Sprintf("blocks.%d.dwa", i-1)); p != nil {
			y = 0
			for k, a := range graph.Float64s(p.Value) {
				y += a * x[i-(p.Size()-1-k)*settingsOf[stream.DenseFormerConfig](n.c).Dilation]
			}
		}
	}
	return y + written(reads) // by the attention of the feed-forward that reads
}

// connected is what MUDD connections of weights b make of 1 that a site writes, where another reads.
func (n *naive) connected(site, to string) float64 {
	written := func(name string) float64 { return map[bool]float64{true: 1}[name == site] }
	x := []float64{written("embedding") + written("positions")}
	ways := []float64{x[0], x[0], x[0], x[0]}
	for l := range n.c.Layers {
		attention, feedforward := fmt.Sprintf("blocks.%d.attention", l), fmt.Sprintf("blocks.%d.feedforward", l)
		if name, via := splitVia(to); name == attention {
			return ways[max(via, 0)]
		}
		residual := ways[len(ways)-1] + written(attention)
		if to == feedforward {
			return residual
		}
		x = append(x, residual+written(feedforward))
		b := graph.Float64s(n.store.Param(fmt.Sprintf("blocks.%d.mudd.bias", l)).Value)
		ways = nil
		for c := range len(b) / len(x) {
			ways = append(ways, floats.Dot(b[c*len(x):][:len(x)], x))
		}
	}
	return ways[0]
}

// attentionNorm is that before queries (0), keys (1) or values (2).
func (n *naive) attentionNorm(site string, via int) *mat.Dense {
	if waysOf(n.c, n.store, site) {
		return normMatrix(gainOf(n.c, n.store, site, via), n.c.Norm == models.NormLayer)
	}
	return n.norm(site + ".norm")
}

// gainOf is that of the norm before queries (0), keys (1) or values (2).
func gainOf(c models.Spec, store *graph.Store, site string, via int) []float64 {
	gain := graph.Float64s(store.Param(site + ".norm").Value)
	if waysOf(c, store, site) {
		gain = gain[via*c.Width():][:c.Width()]
	}
	return gain
}

// waysOf tells whether an attention has a norm for each of them.
func waysOf(c models.Spec, store *graph.Store, site string) bool {
	return on[stream.MUDDConfig](c) && store.Param(site+".norm").Size() > c.Width()
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
