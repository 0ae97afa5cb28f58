package stream

import (
	"slices"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream/linear"
)

// BlockOptions are settings of a model's blocks that the stream carries out: where a sublayer's
// norms stand, what its output is multiplied by, what a feed-forward reads, and which maps around
// attention have biases. With N and N' the norms before and after a sublayer F, and c
// ResidualScale, a site adds
//
//	c N'(F(N(h)))
//
// where N is missing with NormsAfter (Olmo et al. 2025, arXiv 2501.00656, section 3.2) and N' with
// NormsBefore; NormsBoth has both (Gemma 2, arXiv 2408.00118, section 2). N' has a gain, but no
// bias. With Parallel a feed-forward reads the stream as it is before its block's attention (Wang
// and Komatsuzaki 2021, GPT-J).
type BlockOptions struct {
	Norms         string
	ResidualScale float64 // c; 0: 1
	Parallel      bool
	HeadBiases    string // HeadBiasesQKV or HeadBiasesAll; "": those of Common.Bias
}

// The values of BlockOptions.Norms and HeadBiases.
const (
	NormsBefore = "before"
	NormsAfter  = "after"
	NormsBoth   = "both"

	HeadBiasesQKV = "qkv"
	HeadBiasesAll = "all"
)

// The keys of a model that set BlockOptions; Shape.Options lists those that a stream has.
const (
	NormsKey         = "norms"
	ResidualScaleKey = "residual_scale"
	ParallelKey      = "parallel"
	HeadBiasesKey    = "attention.bias"

	// ValueEmbeddingsKey is an option of streams whose links are Readings: models take the
	// attention's normalised input from the link.
	ValueEmbeddingsKey = "attention.value_embeddings"
)

// normsBefore tells whether sublayers read after a norm.
func (o BlockOptions) normsBefore() bool { return o.Norms != NormsAfter }

// normsAfter tells whether sublayers' outputs are normalised.
func (o BlockOptions) normsAfter() bool { return o.Norms == NormsAfter || o.Norms == NormsBoth }

// biases tells which maps around attention have biases: W_QKV, and W_O.
func (c Common) biases() (qkv, output bool) {
	return c.Bias || c.Blocks.HeadBiases != "", c.Bias || c.Blocks.HeadBiases == HeadBiasesAll
}

// OptionsCost returns what BlockOptions add to a design's Cost. A norm after a sublayer keeps its
// input for the backward pass; so does the norm before it, which NormsAfter leaves out. A parallel
// block keeps h once.
func OptionsCost(d Design) layers.Cost {
	if v, ok := d.(interface{ blocksCost() layers.Cost }); ok {
		return v.blocksCost()
	}
	return layers.Cost{}
}

// blocksCost returns what BlockOptions add to the cost of a stream of vectors.
func (c Vectors) blocksCost() (cost layers.Cost) {
	d, _, blocks := c.counts()
	if c.Blocks.Norms == NormsBoth {
		cost = postNorm(c.Common).Cost(d).Times(float64(len(c.AllSites())))
	}
	if c.Blocks.Parallel {
		cost.Activations -= d * blocks
	}
	return cost
}

// postNorm returns the settings of the norms after sublayers.
func postNorm(c Common) layers.NormConfig {
	return layers.NormConfig{RMS: c.Norm.RMS, Eps: c.Norm.Eps}
}

// addPostNorm makes the norm after a site's sublayer, "blocks.3.attention.post_norm" [D], if there
// is one.
func (v *Vector) addPostNorm(at Site) {
	if v.c.Blocks.normsAfter() {
		v.posts = append(v.posts, layers.NewNorm(v.b, at.Name()+postNormSuffix, postNorm(v.c.Common), v.c.D))
	}
}

// postNormSuffix is the end of the names of norms after sublayers. Their inputs have hooks with
// rawSuffix.
const (
	postNormSuffix = ".post_norm"
	rawSuffix      = ".raw"
)

// carryPosts puts the norms after sublayers, at the scale of the run, and the residual scale in
// front of the maps by which sites write.
func (v *Vector) carryPosts(f *Frozen) {
	for _, at := range v.c.AllSites() {
		var maps linear.Chain
		if v.posts != nil {
			norm, _ := v.normOf(f, v.posts[at.Index], at.Name()+rawSuffix)
			maps = append(maps, norm)
		}
		if c := v.c.Blocks.ResidualScale; c != 0 {
			maps = append(maps, linear.Rows(v.c.D, []float64{c}))
		}
		if maps != nil {
			f.Precompose(at.Name(), maps)
		}
	}
}

// readers lists the sites that read just before a site writes: usually the site itself. In a
// parallel block both sites read before attention writes, and none before the feed-forward does.
func (c Common) readers(at Site) []Site {
	switch sites := c.sites(at.Block); {
	case !c.Blocks.Parallel:
		return []Site{at}
	case at.Sublayer == Attention:
		return sites
	}
	return nil
}

// HasOption tells whether a stream has the option of a key.
func (s Shape) HasOption(key string) bool { return slices.Contains(s.Options, key) }
