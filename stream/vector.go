package stream

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
)

// VectorConfig describes a vector stream.
type VectorConfig struct {
	Layers, D, Vocab int
	HeadsWidth       int // heads*headDim, usually D
	Positions        int // rows of the position table; 0: none
	Norm             layers.NormConfig
	Init             layers.Init
	Bias             bool
	InputScale       float64 // muP multiplier of the embedding
	WidthRatio       float64 // muP: D over its base
	HeadsRatio       float64 // muP: heads*headDim over their base
	Dropout          float64
}

// Vector is the residual stream of GPT-2 (Radford et al. 2019): one vector a token,
//
//	h_0 = E[token] + P[position];  h <- h + Sub(Norm(h))
type Vector struct {
	tables
	c         VectorConfig
	attention []heads
	features  []*layers.Norm
	norm      *layers.Norm
}

// VectorState is the stream: h [T, D].
type VectorState struct{ H *gorgonia.Node }

// Nodes returns h.
func (s VectorState) Nodes() gorgonia.Nodes { return gorgonia.Nodes{s.H} }

// NewVector makes the parameters of a vector stream.
func NewVector(b *graph.Builder, c VectorConfig) *Vector {
	v := newVector(b, c)
	v.norm = layers.NewNorm(b, "norm", c.Norm, c.D)
	return v
}

// newVector makes a vector stream without a final norm.
func newVector(b *graph.Builder, c VectorConfig) *Vector {
	v := &Vector{tables: newTables(b, c), c: c}
	for l := range c.Layers {
		sites := twoSites(l)
		v.attention = append(v.attention, newHeads(b, c, sites[0].Name()))
		v.features = append(v.features, layers.NewNorm(b, sites[1].Name()+".norm", c.Norm, c.D))
	}
	return v
}

// Embed looks the tokens up and adds their positions.
func (v *Vector) Embed(t Tokens) State { return VectorState{v.embed(t)} }

// Sites are attention and feed-forward.
func (v *Vector) Sites(block int) []Site { return twoSites(block) }

// ReadHeads is Norm, then W_QKV; heads are contiguous columns.
func (v *Vector) ReadHeads(s State, at Site) (*gorgonia.Node, Link) {
	h := v.attention[at.Block]
	u := h.norm.Forward(s.(VectorState).H) // [T, D]
	return h.read(u), nil                  // [T, 3W]
}

// WriteHeads adds W_O o.
func (v *Vector) WriteHeads(s State, at Site, _ Link, o *gorgonia.Node) State {
	return v.add(s, at, v.attention[at.Block].write(o))
}

// ReadFeatures is Norm.
func (v *Vector) ReadFeatures(s State, at Site) (*gorgonia.Node, Link) {
	return v.features[at.Block].Forward(s.(VectorState).H), nil
}

// WriteFeatures adds y.
func (v *Vector) WriteFeatures(s State, at Site, _ Link, y *gorgonia.Node) State {
	return v.add(s, at, y)
}

func (v *Vector) add(s State, at Site, y *gorgonia.Node) State {
	y = v.b.Hook(at.Name()+".write", v.b.Dropout(y, v.c.Dropout), "feature") // [T, D]
	return VectorState{v.b.Hook(at.Name()+".stream", v.b.Add(s.(VectorState).H, y), "feature")}
}

// EndBlock does nothing.
func (v *Vector) EndBlock(s State, _ int) State { return s }

// Features is the final norm.
func (v *Vector) Features(s State) *gorgonia.Node { return v.norm.Forward(s.(VectorState).H) }

// Form is h' = h + F(h): nothing is chosen.
func (v *Vector) Form(at Site) Form {
	return plainForm(at, "Radford et al. 2019 (GPT-2); He et al. 2016, arXiv 1603.05027")
}
