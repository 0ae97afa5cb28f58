package layers

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
)

// FeedForwardDesign holds a feed-forward's settings: it is the struct from which a FeedForward is
// made. The struct's fields are the keys of model.feedforward in a config, with the key as their
// yaml tag, and its meaning as their help tag.
type FeedForwardDesign interface {
	// Name is the feed-forward's kind in configs.
	Name() string
	// Card describes the feed-forward for readers: equation, source and use.
	Card() Card
	// Check returns a *SettingError for the first setting that is not valid.
	Check() error
	// Shape and the methods below it are meaningful only if Check returns nil.
	Shape() FeedForwardShape
	// Cost returns the cost of one block's feed-forward.
	Cost(FeedForwardSizes) Cost
	// New makes the parameters of one block's feed-forward; their names start with name.
	New(b *graph.Builder, name string, s FeedForwardSizes) FeedForward
}

// FeedForwardShape is what a model needs to know about a feed-forward.
type FeedForwardShape struct {
	None    bool // the blocks have attention but no feed-forward
	Hidden  int  // width of the hidden layer, or of one expert's
	Experts int  // 0: dense
	Used    int  // experts that a token goes to
}

// FeedForwardSizes are the settings of a model that matter to its feed-forward.
type FeedForwardSizes struct {
	In          int // width of u and y
	Bias        bool
	ExactGelu   bool    // compute GELU by erf instead of tanh
	AddsOutput  bool    // y is added to the stream as it is: the last weights start smaller (Init.Output)
	WidthRatio  float64 // muP: In divided by its base; 0: 1
	HiddenRatio float64 // muP: the hidden width divided by its base; 0: 1
	Init        Init
}

// LastWeights returns the initialiser of the last map's weights: Init.Output if AddsOutput,
// otherwise Init.Hidden.
func (s FeedForwardSizes) LastWeights() func(name string, fanIn int, ratio float64, shape ...int) graph.ParamSpec {
	if s.AddsOutput {
		return s.Init.Output
	}
	return s.Init.Hidden
}

// FeedForward is the sublayer between a stream's ReadFeatures and WriteFeatures.
type FeedForward interface {
	// Forward maps u [T, ...In] to y [T, In].
	Forward(u *gorgonia.Node) *gorgonia.Node
	// Units describes the parts whose sum is y.
	Units() Units
}

// Routed is a feed-forward of experts, where each token uses some of them. The first call of a
// method makes its node, which the program must then read.
type Routed interface {
	FeedForward
	Balance() *gorgonia.Node // the load-balancing loss of the last Forward, a scalar
	RouterZ() *gorgonia.Node // the router's z-loss of the last Forward, a scalar
	Counts() *gorgonia.Node  // assignments of each expert in the last Forward, [Experts] Int32
}

// Units are the parts of a block that each write to the stream: neurons or experts.
type Units struct {
	Part       string // "neuron"
	Count      int
	Activation string // hook of the activations [T, Count], or of the terms if Whole
	Weight     string // parameter whose rows the units write at activation 1; "" if Whole
	Bias       string // parameter that is added to their sum, or ""
	Whole      bool   // the activations [T, Count, In] are written without a weight
}
