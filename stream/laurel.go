package stream

import (
	"cmp"
	"math"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/shape"
	"github.com/residua-go/residua/layers"
)

// LaurelConfig describes LAuReL, learned augmented residuals, in the paper's forms or in Gemma's.
type LaurelConfig struct {
	Vectors
	Form        string  `yaml:"form" default:"paper"`
	Weights     string  `yaml:"weights" default:"softmax of paper" help:"of paper: learned weights of the output and of the stream: softmax, sigmoid or none"`
	WeightScale float64 `yaml:"weight_scale" default:"2 with weights" help:"of paper with weights: their factor; with 2 they start at 1, with 1 the stream halves"`
	Rank        int     `yaml:"rank" default:"0, or 64 of gemma" max:"131072" help:"rank of the map whose result is added; of paper 0: no map"`
	Previous    int     `yaml:"previous" max:"64" help:"of paper: each site adds this many earlier streams, its own included, each times a weight; 0: none"`
}

// Help returns the help texts that are too long for tags, by key.
func (LaurelConfig) Help() map[string]string {
	return map[string]string{
		"form": "paper: every site weighs what it adds and the stream, and adds to the stream what rank and previous say; gemma: Gemma " +
			"3n's block, whose attention adds its normalised input and a map of that",
	}
}

// The values of LaurelConfig's settings, and Gemma 3n's rank.
const (
	laurelPaper   = "paper"
	laurelGemma   = "gemma"
	laurelSoftmax = "softmax"
	laurelSigmoid = "sigmoid"
	laurelNone    = "none"
	laurelRank    = 64
	laurelScale   = 2 // the factor with which weights start at 1
)

// Name returns "laurel".
func (LaurelConfig) Name() string { return "laurel" }

// Variant returns the form, which names the variant.
func (c LaurelConfig) Variant() string { return cmp.Or(c.Form, laurelPaper) }

// Card describes LAuReL.
func (c LaurelConfig) Card() layers.Card {
	if c.Form == laurelGemma {
		return layers.Card{
			Title: "LAuReL, Gemma 3n",
			Equation: "n = Norm(x);   x <- (x + RMS(Attention(n)) + n + RMS(n A B)) / sqrt 2;   x <- x + RMS(FF(Norm(x)))\n" +
				"logits = Norm(x) W_U          A is D x r, B r x D, one of each a block",
			Source: "Gemma 3n, as transformers has it (Gemma3nTextLaurelBlock)",
			Use: "Attention adds, besides its normalised output, its normalised input and a map of low rank of it; the sum is divided by sqrt 2, so that " +
				"the stream loses half of its power a block. No transformer at any start. It costs 2 r D parameters a block, and a norm after each sublayer.",
		}
	}
	return layers.Card{
		Title: "LAuReL",
		Equation: "x_(i+1) = alpha F(x_i) + beta (x_i + sum_j gamma_j x_(i-j) A_j B_j)\n" +
			"logits = Norm(x) W_U          j = 0..k-1, A_j is D x r, B_j r x D; without rank no maps, without previous x_i A B alone",
		Source: "Menghani et al. 2025, ICML, arXiv 2411.07501",
		Use: "Three small additions to every residual connection, alone or together: learned weights of what a sublayer adds and of the stream, a map of " +
			"low rank of the stream, and the streams before earlier sites. With B = 0 and weight_scale 2 it starts as the transformer, bit for bit. Weights " +
			"cost two numbers a site, a map of rank 32 0.7% more parameters at 162M, k previous streams k vectors a token.",
	}
}

// Defaults sets the paper's form with a softmax of two weights or, for Gemma's form, Gemma 3n's
// rank.
func (c LaurelConfig) Defaults() Design {
	c.Form = c.Variant()
	if c.Form == laurelPaper {
		c.Weights = cmp.Or(c.Weights, laurelSoftmax)
	} else {
		c.Rank = orDefault(c.Rank, min(laurelRank, c.D))
		if c.Weights == laurelSoftmax { // a config's section begins with these weights, as with the scale
			c.Weights = ""
		}
	}
	switch {
	case c.weighted():
		c.WeightScale = orDefault(c.WeightScale, laurelScale)
	case c.WeightScale == laurelScale:
		c.WeightScale = 0
	}
	return c
}

// Check returns an error for settings of another form, and for settings that leave a plain
// transformer.
func (c LaurelConfig) Check() error {
	if err := cmp.Or(c.Vectors.Check(), layers.CheckChoice("form", c.Form, laurelPaper, laurelGemma),
		layers.CheckOnly("form: paper", "form: "+c.Form, map[string]bool{"weights": c.Weights != "", "previous": c.Previous > 0})); err != nil {
		return err
	}
	switch paper := c.Form == laurelPaper; {
	case c.Rank < 0:
		return layers.Setting("rank", "want >= 0, got %d", c.Rank)
	case c.Previous < 0:
		return layers.Setting("previous", "want >= 0, got %d", c.Previous)
	case c.weighted():
		return layers.CheckPositive("weight_scale", c.WeightScale)
	case paper && c.Weights != laurelNone:
		return layers.CheckChoice("weights", c.Weights, laurelSoftmax, laurelSigmoid, laurelNone)
	case c.WeightScale != 0:
		return layers.Setting("weight_scale", "want weights: %s or %s with it, got %g without", laurelSoftmax, laurelSigmoid, c.WeightScale)
	case paper && c.Rank == 0 && c.Previous == 0:
		return layers.Setting("weights", "want weights, rank or previous, got none of them: take the vector stream")
	}
	return nil
}

// weighted tells whether there are learned weights.
func (c LaurelConfig) weighted() bool {
	return c.Weights == laurelSoftmax || c.Weights == laurelSigmoid
}

// Shape returns the shape of a stream of one vector for each token, which also keeps the previous
// streams.
func (c LaurelConfig) Shape() Shape {
	s := c.shape(c.D)
	s.Kept = max(1, c.Previous) * c.D
	return s
}

// Plain returns a vector stream if both weights start at 1: everything else that is added starts
// at 0.
func (c LaurelConfig) Plain() (Design, bool) {
	return c.plain(c.Form == laurelPaper && (!c.weighted() || c.WeightScale == laurelScale))
}

// Cost adds to a vector stream's cost the cost of the terms that LAuReL adds at each site.
func (c LaurelConfig) Cost() layers.Cost {
	total := c.Vectors.Cost()
	for _, at := range c.AllSites() {
		if c.Form == laurelGemma {
			total = total.Plus(c.gemmaCost(at))
		} else {
			total = total.Plus(c.siteCost(at))
		}
	}
	return total
}

// siteCost returns the cost of a site's weights and of the terms that are added. The backward pass
// keeps what the weights multiply, except the stream, which is kept anyway. DepthParameters counts
// the parameters of the added terms.
func (c LaurelConfig) siteCost(at Site) layers.Cost {
	d, m, r := float64(c.D), float64(c.terms(at)), float64(c.Rank)
	cost := layers.Cost{FLOPs: 4 * d * r * m, Activations: r * m}
	if c.Previous > 0 {
		cost = cost.Plus(layers.Cost{FLOPs: 2 * m * orDefault(r, d), Activations: r * m})
	}
	if weighed := 1 + indicator(m > 0); c.weighted() {
		cost = cost.Plus(layers.Cost{Parameters: 2, FLOPs: 2 * d * (1 + weighed), Activations: d * weighed})
	}
	return cost
}

// DepthParameters counts the parameters of maps of previous streams and of sums over them. Later
// passes of a loop have more of them.
func (c LaurelConfig) DepthParameters() func(depth int) (shared, own float64) {
	if c.Form == laurelGemma {
		return nil
	}
	return func(depth int) (shared, own float64) {
		for _, at := range c.sites(depth) {
			shared += float64(c.terms(at)) * (2*float64(c.D*c.Rank) + indicator(c.Previous > 0))
		}
		if c.Previous > 0 {
			return 0, shared
		}
		return shared, 0
	}
}

// terms returns the number of streams from which a site adds something.
func (c LaurelConfig) terms(at Site) int {
	if c.Previous == 0 {
		return int(indicator(c.Rank > 0))
	}
	return min(c.Previous, at.Index+1)
}

// New makes the parameters of a form.
func (c LaurelConfig) New(b *graph.Builder) Stream {
	if c.Form == laurelGemma {
		return newGemma(b, c)
	}
	l := &laurel{Vector: newVector(b, c.Vectors), config: c}
	for _, at := range c.AllSites() {
		l.sites = append(l.sites, c.newSite(b, at))
	}
	if c.weighted() {
		l.all = l.coefficients()
	}
	l.Use(l)
	return l
}

// laurel is LAuReL (Menghani et al. 2025, arXiv 2411.07501), with x_i the stream before site i,
//
//	x_(i+1) = alpha F(x_i) + beta (x_i + s)
//	s = x_i A B                                         with rank r
//	s = sum over j < min(k, i+1) of gamma_j x_(i-j)     with k previous streams, each times A_j B_j with rank, too
//
// (alpha, beta) are c softmax(w), or c sigmoid(w), or 1. At first w = 0, A_ij = 1/sqrt(r D) if i =
// j mod r, else 0, B = 0, and gamma is 0, or 1 with rank, because otherwise nothing would have a
// gradient. w and gamma do not decay.
//
// Parameters of a site: "laurel.weights" [1, 2], "laurel.gamma" [1, m], "laurel.left" [D, m
// r], "laurel.right" [m r, D]. With previous streams, each pass of a loop has its own last
// three. The streams before earlier sites are the state's More, the latest first.
type laurel struct {
	*Vector
	config LaurelConfig
	sites  []laurelSite   // by Site.Index
	all    *gorgonia.Node // alpha and beta of all sites side by side [1, 2 sites], or nil
}

// laurelSite holds the parameters of a site; nil for those that it does not have.
type laurelSite struct{ weights, gamma, left, right *gorgonia.Node }

func (c LaurelConfig) newSite(b *graph.Builder, at Site) (s laurelSite) {
	name, m := at.Name()+".laurel", c.terms(at)
	own := func(p graph.ParamSpec) *gorgonia.Node {
		p.Unshared = c.Previous > 0
		return b.Param(p)
	}
	if c.weighted() {
		s.weights = b.Param(layers.Zero(name+".weights", 1, 2))
	}
	if c.Previous > 0 {
		s.gamma = own(filled(name+".gamma", indicator(c.Rank > 0), 1, m))
	}
	if c.Rank > 0 {
		left := decaying(name+".left", c.D, m*c.Rank)
		left.Columns = slices.Repeat([]int{c.Rank}, m)
		size := 1 / math.Sqrt(float64(c.Rank*c.D))
		left.Init.Values = table(c.D, m*c.Rank, func(i, j int) float64 { return size * indicator(i%c.Rank == j%c.Rank) })
		s.left, s.right = own(left), own(decaying(name+".right", m*c.Rank, c.D))
	}
	return s
}

// Write computes alpha y + beta (x + s).
func (l *laurel) Write(state State, at Site, _ Reading, y *gorgonia.Node) State {
	b, streams, first := l.b, state.Nodes(), 2*at.Index
	terms := gorgonia.Nodes{l.Written(at, y), streams[0]}
	if n := l.config.terms(at); n > 0 {
		terms = append(terms, l.extra(l.sites[at.Index], streams[:n]))
	}
	h := l.all
	if h == nil {
		h = b.Add(terms...)
	} else {
		weights := shape.Slice(b, l.all, first, first+2)
		if len(terms) > 2 {
			weights = shape.Concat(b, weights, shape.Slice(b, l.all, first+1, first+2)) // alpha, beta, beta
		}
		h = elementwise.WeightedSum(b, weights, terms...)
	}
	return VectorState{l.Hook(at, ".stream", h), streams[:min(len(streams), max(0, l.config.Previous-1))]}
}

// extra returns s [T, D], from the site's stream and those before.
func (l *laurel) extra(site laurelSite, streams gorgonia.Nodes) *gorgonia.Node {
	b, r := l.b, l.config.Rank
	if r == 0 {
		return elementwise.WeightedSum(b, site.gamma, streams...)
	}
	var low gorgonia.Nodes
	for j, x := range streams {
		left := site.left
		if len(streams) > 1 {
			left = shape.Slice(b, left, j*r, (j+1)*r)
		}
		x = mapped(b, x, left, nil) // [T, r]
		if site.gamma != nil {
			x = elementwise.WeightedSum(b, shape.Slice(b, site.gamma, j, j+1), x)
		}
		low = append(low, x)
	}
	if len(low) == 1 {
		return mapped(b, low[0], site.right, nil)
	}
	return mapped(b, shape.Concat(b, low...), site.right, nil)
}

// coefficients computes alpha and beta of all sites at once; the softmax of two numbers is the
// sigmoid of their difference.
func (l *laurel) coefficients() *gorgonia.Node {
	var all gorgonia.Nodes
	for _, site := range l.sites {
		all = append(all, site.weights)
	}
	b, n := l.b, 2*len(l.sites)
	w := shape.Concat(b, all...)
	if l.config.Weights == laurelSoftmax {
		numbers := func(values ...float64) *gorgonia.Node { return shape.Constant(b, all[0], values, len(values)) }
		none := shape.Constant(b, all[0], []float64{0}, 1, 1)
		next, previous := shape.Concat(b, shape.Slice(b, w, 1, n), none), shape.Concat(b, none, shape.Slice(b, w, 0, n-1))
		lessNext := elementwise.AddScaled(b, w, next, numbers(slices.Repeat([]float64{-1, 0}, n/2)...))
		w = elementwise.AddScaled(b, lessNext, previous, numbers(slices.Repeat([]float64{0, -1}, n/2)...))
	}
	return elementwise.Scale(b, elementwise.Sigmoid(b, w), l.config.WeightScale)
}

// Form describes the weights in A_res and B_up; maps and previous streams are outside the form.
func (l *laurel) Form(at Site) Form {
	s, f := l.sites[at.Index], plainForm(at, "Menghani et al. 2025, arXiv 2411.07501 (LAuReL)")
	if s.weights != nil {
		f.Res = Learned.coefficient(1, 1, "1 x 1", number(l.config.WeightScale/2), s.weights)
		f.Up = f.Res
	}
	if added := nodeNames(s.gamma, s.left, s.right); added != nil {
		f.Beyond = []Term{{"beta times a sum over streams before this site and earlier ones, of weights and maps of low rank", added}}
	}
	return f
}
