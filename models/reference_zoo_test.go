package models_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// vectorSizes are the fields that the paper-form configs of vector blocks share.
type vectorSizes struct {
	Vocab, Seq, Layers, D, Heads, FF int
	N, M, Iterations, Inner, Rank    int
	Experts                          int
	TopK                             int `json:"top_k"`
	Balance                          float64
	Dynamic                          bool
	Dilation, Period                 int
	Block                            int
	Delta, Gate                      bool
	Alpha                            float64
	Form                             string
	Width                            int
	Retention                        bool
	Weights                          string
	WeightScale                      float64 `json:"weight_scale"`
	Previous                         int
	Split                            int
	Parallel                         bool
	MaxForget                        float64 `json:"max_forget"`
	Begin                            int     `json:"loop_begin"`
	End                              int     `json:"loop_end"`
	Loops                            int
	Inverse                          bool `json:"inverse_layer_scaling"`
	Eps                              float64
	Gelu, Norm, FeedForward          string
	ZLoss                            float64 `json:"z_loss"`
	attentionSizes
	optionSizes
}

// config is the model on a vector stream.
func (c vectorSizes) config() models.Config {
	return models.Config{Stream: c.vector(), Attention: c.attention(), TieEmbeddings: c.Tied, LogitSoftcap: c.Softcap, Layers: c.Layers,
		LoopBegin: c.Begin, LoopEnd: c.End, Loops: c.Loops,
		FeedForward: c.feedForward(), Vocab: c.Vocab, Seq: c.Seq, NormEps: c.Eps, Norm: normName(c.Norm), Gelu: c.Gelu}
}

// feedForward is what the folder names, a GELU where it names nothing.
func (c vectorSizes) feedForward() layers.FeedForwardDesign {
	switch c.FeedForward {
	case "swiglu":
		return layers.SwiGLUConfig{Hidden: c.FF}
	case "relu":
		return layers.ReLUConfig{Hidden: c.FF}
	case "relu2":
		return layers.ReLU2Config{Hidden: c.FF}
	case "none":
		return layers.NoFeedForward{}
	}
	return gelu(c.FF)
}

// readSizes reads a folder's config and links the tensors that all vector blocks have.
func readSizes(t *testing.T, r *reference) vectorSizes {
	var c vectorSizes
	require.NoError(t, json.Unmarshal(r.expected.Config, &c))
	r.config, r.auxiliary.ZLoss = c.config(), c.ZLoss
	r.weights = append(r.weights, same("embedding", c.D, 1), same("norm", 1))
	if c.Positions != models.PositionsRoPE {
		r.weights = append(r.weights, same("positions", c.D, 1))
	}
	if !c.Tied {
		r.weights = append(r.weights, same("unembedding", c.Vocab, 1))
	}
	for l := range c.Layers {
		a, f := site(l, "attention"), site(l, "feedforward")
		r.weights = append(r.weights, same(a+"norm", 1), same(a+"o", c.D, 1))
		if c.FeedForward != "none" {
			r.weights = append(r.weights, same(f+"norm", 1), same(f+"w1", c.FF, 1), same(f+"w2", c.D, 1))
		}
		if c.FeedForward == "swiglu" {
			r.weights = append(r.weights, same(f+"w3", c.FF, 1))
		}
		r.weights = append(r.weights, c.attentionLinks(l)...)
		r.weights = append(r.weights, c.optionLinks(l)...)
	}
	return c
}

// site is the prefix of a site's tensors.
func site(layer int, kind string) string { return fmt.Sprintf("blocks.%d.%s.", layer, kind) }

// sites calls f with the prefix of every site of two a block.
func sites(layers int, f func(prefix string)) {
	for l := range layers {
		f(site(l, "attention"))
		f(site(l, "feedforward"))
	}
}

// replace puts links in the place of those of the same names.
func (r *reference) replace(links ...link) {
	for _, l := range links {
		r.remove(l.theirs)
	}
	r.weights = append(r.weights, links...)
}

func (r *reference) remove(names ...string) {
	kept := r.weights[:0]
	for _, l := range r.weights {
		drop := false
		for _, name := range names {
			drop = drop || l.theirs == name
		}
		if !drop {
			kept = append(kept, l)
		}
	}
	r.weights = kept
}

// readers read the folders, by their kind.
func readers() map[string]func(*testing.T, *reference) {
	return map[string]func(*testing.T, *reference){
		"rmt": readRMT, "rmt-dynamic": readDynamicRMT, "transformer": readTransformer,
		"official-rmt": readOfficialRMT, "official-transformer": readOfficialTransformer,
		"hyper-static": readHyper, "hyper-dynamic": readHyper, "mhc": readMHC, "mhc-lite": readMHC, "kromhc": readKromHC, "gated-residual": readGatedResidual, "vwn": readVWN,
		"highway": readHighway, "hieragg": readHieragg, "dwlstm": readDWLSTM, "moe": readMoE, "denseformer": readDenseFormer, "muon": readTransformer,
		"mudd":           readMUDD,
		"value-residual": readTransformer, "x0": readTransformer, "layerscale": readTransformer, "modern": readTransformer,
		"attnres":    readAttnRes,
		"deep-delta": readDeepDelta,
		"wide":       readWide,
		"laurel":     readLaurel,
		"two-lane":   readTwoLane,
		"siamese":    readSiamese, "keel": readKeel, "looped": readTransformer,
	}
}

// readTransformer is the paper form of the transformer.
func readTransformer(t *testing.T, r *reference) { readSizes(t, r) }

// readHyper links A_m | A_r | B^T, and W_m | W_r | W_b, to columns of one tensor each.
func readHyper(t *testing.T, r *reference) {
	c := readSizes(t, r)
	r.config = r.config.OnStream(stream.HyperConfig{N: c.N, Dynamic: c.Dynamic})
	k := c.N + 2
	sites(c.Layers, func(prefix string) {
		h := prefix + "hyper."
		packed := func(theirs, ours string, base int, strides ...int) link {
			return link{theirs: h + theirs, ours: h + ours, base: base, strides: strides}
		}
		r.weights = append(r.weights, packed("A_m", "static", 0, k, 1), packed("A_r", "static", 1, k, 1), packed("B", "static", 1+c.N, 1, k))
		if c.Dynamic {
			r.weights = append(r.weights, same(h+"norm", 1), packed("s_a", "scale", 0, 1), packed("s_b", "scale", 1, 1),
				packed("W_m", "w", 0, k, 1), packed("W_r", "w", 1, k, 1), packed("W_b", "w", 1+c.N, k, 1))
		}
	})
}

// readMHC is mHC and mHC-lite, whose tensors lie as ours.
func readMHC(t *testing.T, r *reference) {
	c := readSizes(t, r)
	mixing := c.N * c.N
	r.config = r.config.OnStream(stream.MHCConfig{N: c.N, Iterations: c.Iterations})
	if r.expected.Kind == "mhc-lite" {
		r.config = r.config.OnStream(stream.MHCLiteConfig{N: c.N})
		mixing = 1
		for i := range c.N {
			mixing *= i + 1
		}
	}
	sites(c.Layers, func(prefix string) {
		m := prefix + "mhc."
		r.weights = append(r.weights, same(m+"phi", 2*c.N+mixing, 1), same(m+"alpha", 1), same(m+"b", 1))
	})
}

// readVWN links W_a | W_b to columns of one tensor.
func readVWN(t *testing.T, r *reference) {
	c := readSizes(t, r)
	r.config = r.config.OnStream(stream.VWNConfig{N: c.N, M: c.M})
	d, k := c.D/c.M, 2*c.M+c.N
	r.replace(same("embedding", c.N*d, 1), same("positions", c.N*d, 1), same("reduce", c.D, 1))
	if c.N%c.M == 0 {
		r.weights = append(r.weights, same("group_norm", c.D, 1))
	}
	sites(c.Layers, func(prefix string) {
		v := prefix + "vwn."
		r.weights = append(r.weights, same(v+"norm", 1), same(v+"static", k, 1), same(v+"scale", k, 1),
			link{theirs: v + "W_a", ours: v + "w", strides: []int{k, 1}},
			link{theirs: v + "W_b", ours: v + "w", base: c.M + c.N, strides: []int{k, 1}})
	})
}

// readHighway links W1 | W2 of the units to columns of one tensor.
func readHighway(t *testing.T, r *reference) {
	c := readSizes(t, r)
	r.config = r.config.OnStream(stream.HighwayConfig{})
	sites(c.Layers, func(prefix string) {
		for i, name := range []string{"sdu.w1", "sdu.w2"} {
			r.weights = append(r.weights, link{theirs: prefix + name, ours: prefix + "sdu", base: i * c.D, strides: []int{2 * c.D, 1}})
		}
	})
}

// readHieragg has an aggregate, whose norm is the last one.
func readHieragg(t *testing.T, r *reference) {
	c := readSizes(t, r)
	r.config = r.config.OnStream(stream.HieraggConfig{Inner: c.Inner})
	r.remove("norm")
	r.weights = append(r.weights, same("aggregate.w1", c.Inner, 1), same("aggregate.w2", c.D, 1), same("aggregate.norm", 1))
}

// readDenseFormer has weights at some blocks' ends, which lie as ours.
func readDenseFormer(t *testing.T, r *reference) {
	c := readSizes(t, r)
	r.config = r.config.OnStream(stream.DenseFormerConfig{Dilation: c.Dilation, Period: c.Period})
	for block := range c.Layers {
		if (block+1)%c.Period == 0 {
			r.weights = append(r.weights, same(fmt.Sprintf("blocks.%d.dwa", block), 1))
		}
	}
}

// readSiamese has two norms at each site and at the end.
func readSiamese(t *testing.T, r *reference) {
	c := readSizes(t, r)
	r.config = r.config.OnStream(stream.SiameseConfig{})
	r.weights = append(r.weights, same("siamese.post", 1), same("siamese.pre", 1))
	sites(c.Layers, func(prefix string) {
		r.weights = append(r.weights, same(prefix+"siamese.post", 1), same(prefix+"siamese.pre", 1))
	})
}

// readKeel has a norm after each site, and none at the end.
func readKeel(t *testing.T, r *reference) {
	c := readSizes(t, r)
	r.config = r.config.OnStream(stream.KeelConfig{Alpha: c.Alpha})
	r.remove("norm")
	sites(c.Layers, func(prefix string) { r.weights = append(r.weights, same(prefix+"post", 1)) })
}

// readLaurel has weights and sums at each site, maps side by side where there are several; or norms after sites,
// and a map at each attention.
func readLaurel(t *testing.T, r *reference) {
	c := readSizes(t, r)
	if c.Form == "gemma" {
		r.config = r.config.OnStream(stream.LaurelConfig{Form: c.Form, Rank: c.Rank})
		for l := range c.Layers {
			a := site(l, "attention")
			r.weights = append(r.weights, same(a+"laurel.left", c.Rank, 1), same(a+"laurel.right", c.D, 1), same(a+"laurel.norm", 1),
				same(a+"post", 1), same(site(l, "feedforward")+"post", 1))
		}
		return
	}
	r.config = r.config.OnStream(stream.LaurelConfig{Form: c.Form, Weights: c.Weights, WeightScale: c.WeightScale, Rank: c.Rank, Previous: c.Previous})
	index := 0
	sites(c.Layers, func(prefix string) {
		index++
		p := prefix + "laurel."
		r.weights = append(r.weights, same(p+"weights", 1))
		if m := min(c.Previous, index); m > 0 {
			r.weights = append(r.weights, same(p+"gamma", 1), same(p+"left", c.Rank, m*c.Rank, 1), same(p+"right", c.Rank*c.D, c.D, 1))
		} else {
			r.weights = append(r.weights, same(p+"left", c.Rank, 1), same(p+"right", c.D, 1))
		}
	})
}

// readTwoLane has two or three numbers at each site.
func readTwoLane(t *testing.T, r *reference) {
	c := readSizes(t, r)
	r.config = r.config.OnStream(stream.TwoLaneConfig{Split: c.Split, Parallel: c.Parallel})
	sites(c.Layers, func(prefix string) { r.weights = append(r.weights, same(prefix+"lanes", 1)) })
}

// readDWLSTM has cells in the place of norms and feed-forwards.
func readDWLSTM(t *testing.T, r *reference) {
	c := readSizes(t, r)
	r.config = r.config.OnStream(stream.DWLSTMConfig{})
	for l := range c.Layers {
		f, cell := site(l, "feedforward"), site(l, "lstm")
		r.remove(site(l, "attention")+"norm", f+"norm", f+"w1", f+"w2")
		for _, gate := range []string{"input.", "forget.", "output."} {
			r.weights = append(r.weights, same(cell+gate+"w", c.D, 1), same(cell+gate+"norm", 1), same(cell+gate+"bias", 1))
		}
		r.weights = append(r.weights, same(cell+"hidden.w1", 4*c.D, 1), same(cell+"hidden.norm", 1), same(cell+"hidden.w2", c.D, 1))
	}
}

// readMoE has experts in the place of each feed-forward, stacked in one tensor of ours.
func readMoE(t *testing.T, r *reference) {
	c := readSizes(t, r)
	experts(c.Experts, c.TopK)(&r.config)
	r.auxiliary.BalanceLoss = c.Balance
	for l := range c.Layers {
		f := site(l, "feedforward")
		r.remove(f+"w1", f+"w2")
		r.weights = append(r.weights, same(f+"router", c.Experts, 1))
		for e := range c.Experts {
			theirs := fmt.Sprintf("%s%d.", f, e)
			r.weights = append(r.weights, link{theirs: theirs + "w1", ours: f + "w1", base: e * c.D * c.FF, strides: []int{c.FF, 1}},
				link{theirs: theirs + "w2", ours: f + "w2", base: e * c.D * c.FF, strides: []int{c.D, 1}})
		}
	}
}
