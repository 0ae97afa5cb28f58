package analysis_test

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/graph"
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
		if latents(n.c) && strings.HasPrefix(site, "blocks.") { // n.out has the map up: what is left is the identity
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
	var x []float64
	var err error
	if to == "unembedding" {
		x, err = n.frozen.Carry(site, token, y)
		if err == nil && on[stream.GatedResidualConfig](n.c) {
			return n.readOut(token, x)
		}
		if read := n.store.Param("wide.read"); read != nil { // the last read's weights
			for i := range x {
				x[i] /= 1 + math.Exp(-graph.Float64s(read.Value)[i*read.Size()/len(x)])
			}
		}
		if on[stream.TwoLaneConfig](n.c) { // the lanes' mean is read
			floats.Scale(0.5, x)
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
	if on[stream.KeelConfig](n.c) || on[stream.SiameseConfig](n.c) {
		m = n.normed(site, to)
	}
	if on[stream.LaurelConfig](n.c) {
		m = n.augmented(site, to)
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

// normed is what norms after sites, of streams that have them, make of what a site writes where another
// reads.
func (n *naive) normed(site, to string) *mat.Dense {
	one := normMatrix(slices.Repeat([]float64{1}, n.c.Width()), false)
	written := func(name string, factor float64) *mat.Dense {
		return sized(one, factor*map[bool]float64{true: 1}[name == site])
	}
	x := written("embedding", 1)
	x.Add(x, written("positions", 1))
	y := mat.DenseCopyOf(x)
	for i := range 2 * n.c.Layers {
		name := fmt.Sprintf("blocks.%d.%s", i/2, []string{"attention", "feedforward"}[i%2])
		read := x
		if on[stream.SiameseConfig](n.c) {
			x = times(x, n.norm(name+".siamese.post"))
			read = plus(x, times(y, n.norm(name+".siamese.pre")))
			x, y = plus(x, written(name, 1/math.Sqrt(float64(2*(i/2+1))))), plus(y, written(name, 1))
		} else {
			x = times(plus(x, written(name, 1/settingsOf[stream.KeelConfig](n.c).Alpha)), n.norm(name+".post"))
		}
		if name == to {
			return read
		}
	}
	if on[stream.SiameseConfig](n.c) {
		return plus(times(x, n.norm("siamese.post")), times(y, n.norm("siamese.pre")))
	}
	return x
}

// augmented is what LAuReL makes of what a site writes where another reads.
func (n *naive) augmented(site, to string) *mat.Dense {
	one := normMatrix(slices.Repeat([]float64{1}, n.c.Width()), false)
	written := func(names ...string) *mat.Dense {
		return sized(one, map[bool]float64{true: 1}[slices.Contains(names, site)])
	}
	gain := func(name string) *mat.Dense { return normMatrix(graph.Float64s(n.store.Param(name).Value), false) }
	xs, settings := []*mat.Dense{written("embedding", "positions")}, settingsOf[stream.LaurelConfig](n.c) // the last one first
	for i := range 2 * n.c.Layers {
		name := fmt.Sprintf("blocks.%d.%s", i/2, []string{"attention", "feedforward"}[i%2])
		if name == to {
			break
		}
		next := xs[0]
		switch {
		case settings.Form != "gemma":
			alpha, beta := n.weighted(name)
			next = plus(sized(written(name), alpha), sized(plus(next, n.extra(name+".laurel.", xs)), beta))
		case i%2 == 0:
			u := times(next, n.norm(name+".norm"))
			low := times(u, n.param(name+".laurel.left"), n.param(name+".laurel.right"), gain(name+".laurel.norm"))
			next = sized(plus(plus(next, u), plus(low, times(written(name), gain(name+".post")))), 1/math.Sqrt2)
		default:
			next = plus(next, times(written(name), gain(name+".post")))
		}
		xs = append([]*mat.Dense{next}, xs...)
	}
	return xs[0]
}

// weighted are LAuReL's weights of what a site adds and of the stream.
func (n *naive) weighted(site string) (alpha, beta float64) {
	c, w := settingsOf[stream.LaurelConfig](n.c), graph.Float64s(n.store.Param(site+".laurel.weights").Value)
	a, b := math.Exp(w[0]), math.Exp(w[1])
	if c.Weights == "sigmoid" {
		return c.WeightScale * a / (1 + a), c.WeightScale * b / (1 + b)
	}
	return c.WeightScale * a / (a + b), c.WeightScale * b / (a + b)
}

// extra is what LAuReL adds to a site's stream, the first of xs.
func (n *naive) extra(prefix string, xs []*mat.Dense) *mat.Dense {
	rank, gamma := settingsOf[stream.LaurelConfig](n.c).Rank, []float64{1}
	if p := n.store.Param(prefix + "gamma"); p != nil {
		gamma = graph.Float64s(p.Value)
	}
	sum := sized(xs[0], 0)
	for j, factor := range gamma {
		left, right := n.param(prefix+"left").Slice(0, n.c.Width(), j*rank, (j+1)*rank), n.param(prefix+"right").Slice(j*rank, (j+1)*rank, 0, n.c.Width())
		sum = plus(sum, sized(times(xs[j], left, right), factor))
	}
	return sum
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
