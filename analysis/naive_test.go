package analysis_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
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

func newNaive(t *testing.T, store *graph.Store, spec models.Spec, run *cache.Cache) *naive {
	n := &naive{t: t, store: store, c: spec, run: run, maps: map[string]*mat.Dense{}}
	if run != nil {
		frozen, err := run.Model().Stream().(stream.Additive).Freeze(run)
		require.NoError(t, err)
		n.frozen = frozen
	}
	return n
}

// norm returns the matrix of the norm whose gain is the named parameter: the identity for a stream
// without that norm. Latents have another norm and a map in front of it.
func (n *naive) norm(name string) *mat.Dense {
	if n.store.Param(name) == nil {
		return normMatrix(slices.Repeat([]float64{1}, n.c.Width()), false)
	}
	gain := func(name string) []float64 { return graph.Float64s(n.store.Param(name).Value) }
	if site, _ := siteOf(name); latents(n.store) && site != name {
		return times(normMatrix(gain(site+".wide.norm"), n.c.Norm == models.NormLayer), n.param(site+".wide.down"), normMatrix(gain(name), false))
	}
	return normMatrix(gain(name), n.c.Norm == models.NormLayer)
}

// latents tells whether sublayers read and write a wide residual by maps.
func latents(store *graph.Store) bool { return store.Param("blocks.0.attention.wide.down") != nil }

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
		return n.scaled(site, n.param(site+".o").Slice(h*dh, (h+1)*dh, 0, n.c.Width()))
	case strings.HasSuffix(site, "aggregate"):
		if n.store.Param("aggregate.w2") != nil { // of all
			site = "aggregate"
		}
		return n.param(site + ".w2")
	}
	return n.scaled(site, parameter(n.t, n.store, site+".w2", expertCount(n.c)*hidden(n.c)))
}

// scaled is w diag(g) with LayerScale's gain, w W_up with a latent's, or w.
func (n *naive) scaled(site string, w mat.Matrix) *mat.Dense {
	if latents(n.store) {
		return times(w, n.param(site+".wide.up"))
	}
	if scale := n.store.Param(site + ".scale"); scale != nil {
		return times(w, normMatrix(graph.Float64s(scale.Value), false))
	}
	return mat.DenseCopyOf(w)
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
		return times(n.attentionNorm(site, strings.IndexRune("qkv", via)), n.param(site+".qkv").Slice(0, n.c.Width(), from, from+dh),
			attentionGain(n.c, n.store, site+".", strings.IndexRune("qkv", via)))
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
	switch {
	case n.store.Param("norm") == nil: // the stream is normalised, or what is read
		return w
	case n.store.Param("reduce") != nil:
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

// attentionNorm is that before queries (0), keys (1) or values (2).
func (n *naive) attentionNorm(site string, via int) *mat.Dense {
	if waysOf(n.c, n.store, site) {
		return normMatrix(gainOf(n.c, n.store, site, via), n.c.Norm == models.NormLayer)
	}
	return n.norm(site + ".norm")
}

// gainOf returns the gain of the norm in front of queries (0), keys (1) or values (2).
func gainOf(spec models.Spec, store *graph.Store, site string, via int) []float64 {
	gain := graph.Float64s(store.Param(site + ".norm").Value)
	if waysOf(spec, store, site) {
		gain = gain[via*spec.Width():][:spec.Width()]
	}
	return gain
}

// waysOf tells whether an attention has a norm for each of them.
func waysOf(spec models.Spec, store *graph.Store, site string) bool {
	norm := store.Param(site + ".norm")
	return norm != nil && norm.Size() == 3*spec.Width()
}

// attentionGain is what an attention multiplies queries (0), keys (1) or values (2) by, [Dh, Dh].
func attentionGain(spec models.Spec, store *graph.Store, name string, part int) *mat.Dense {
	gain := slices.Repeat([]float64{1}, spec.HeadDim())
	switch p := store.Param(name + []string{"q_norm", "k_norm", "value_residual"}[part]); {
	case p != nil && part < 2:
		gain = graph.Float64s(p.Value)
	case p != nil:
		gain = slices.Repeat(graph.Float64s(p.Value)[:1], spec.HeadDim())
	case part == 2 && spec.Attention.ValueResidual != "" && !strings.HasPrefix(name, "blocks.0."):
		gain = slices.Repeat([]float64{0.5}, spec.HeadDim())
	}
	return normMatrix(gain, false)
}

// firstFactor returns the factor of the first attention's values in a layer's values.
func firstFactor(spec models.Spec, store *graph.Store, layer int) float64 {
	switch learned := store.Param(fmt.Sprintf("blocks.%d.attention.value_residual", layer)); {
	case layer == 0 || spec.Attention.ValueResidual == "":
		return 0
	case learned != nil:
		return graph.Float64s(learned.Value)[1]
	}
	return 0.5
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
