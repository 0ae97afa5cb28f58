package stream

import (
	"cmp"

	"github.com/residua-go/residua/layers"
)

// DeepDeltaConfig describes a stream that is written by the delta rule.
type DeepDeltaConfig struct {
	Vectors
	Dv     int     `yaml:"dv" default:"4" max:"32" help:"dv, rows of the stream: values that each feature has"`
	Conv   int     `yaml:"conv" default:"0: none" max:"64" help:"taps of the causal convolution over positions before each read; the authors take 4"`
	VScale float64 `yaml:"v_scale" default:"4" help:"largest value that is written"`
	KEps   float64 `yaml:"k_eps" default:"1e-5" help:"eps next to the norm of a sublayer's output"`
	Beta0  float64 `yaml:"beta0" default:"1" help:"beta at first: 0 writes nothing, 1 replaces, 2 mirrors"`
}

const (
	// maxDeltaRows is the largest dv: the number of threads in a GPU's warp.
	maxDeltaRows = 32
	// maxTaps is the longest filter.
	maxTaps = 64
)

// Name returns "deep-delta".
func (DeepDeltaConfig) Name() string { return "deep-delta" }

// Card describes Deep Delta Learning.
func (c DeepDeltaConfig) Card() layers.Card {
	card := layers.Card{
		Title: "Deep Delta Learning",
		Equation: "k = F(x)/|F(x)|,   beta = 2 sigmoid(w . Norm(x) + b),   v = 4 sigmoid(W x + b_v)\n" +
			"X <- X + beta k (v^T - k^T X);   x = sum over columns c of r[c] conv(X)[c]",
		Source: "Zhang et al. 2026, arXiv 2601.00417",
		Use: "A sublayer's output is a direction alone: what the stream holds there is erased, and a value is put in its place, so that the stream can " +
			"forget. With dv > 1 the stream is a matrix, dv times as large as what sublayers read of it, for 0.2% more parameters. It starts with beta = 1, " +
			"every site replacing what it finds: not as a transformer.",
	}
	if c.Dv == 1 {
		card.Title += ", vector state"
		card.Equation = "k = F(x)/|F(x)|,   beta = 2 sigmoid(w . Norm(x) + b),   v = 4 sigmoid(w_v . x + b_v)\n" +
			"x <- x + beta k (v - k . x)"
		card.Use = "The plain form: one vector a token, as long as a transformer's, of which a sublayer's output is a direction: what the stream holds " +
			"there is erased, and a number is put in its place."
	}
	return card
}

// Defaults uses the authors' settings, but no convolution.
func (c DeepDeltaConfig) Defaults() Design {
	c.Dv, c.VScale, c.KEps, c.Beta0 = orDefault(c.Dv, 4), orDefault(c.VScale, 4), orDefault(c.KEps, 1e-5), orDefault(c.Beta0, 1)
	return c
}

// Check returns an error unless there are 1 to 32 rows, a convolution only with more than one row,
// and numbers within their bounds.
func (c DeepDeltaConfig) Check() error {
	if err := cmp.Or(c.Vectors.Check(), layers.CheckPositive("v_scale", c.VScale), layers.CheckPositive("k_eps", c.KEps)); err != nil {
		return err
	}
	switch {
	case c.Dv < 1 || c.Dv > maxDeltaRows:
		return layers.Setting("dv", "want 1 to %d, got %d", maxDeltaRows, c.Dv)
	case c.Conv < 0 || c.Conv > maxTaps:
		return layers.Setting("conv", "want 0 (none) to %d taps, got %d", maxTaps, c.Conv)
	case c.Conv > 0 && c.Dv == 1:
		return layers.Setting("conv", "want none with dv 1, which is read as it is, got %d taps: leave conv out, or take dv >= 2", c.Conv)
	case !(c.Beta0 > 0 && c.Beta0 < 2):
		return layers.Setting("beta0", "want a number in (0, 2), got %g", c.Beta0)
	}
	return nil
}

// Shape returns the shape of a stream of Dv rows.
func (c DeepDeltaConfig) Shape() Shape {
	s := c.shape(c.Dv * c.D)
	s.AddsOutput = false // the norm of a sublayer's output does not matter
	return s
}

// Cost counts for each site a gate and dv values, (D+1)(1+dv) parameters, and for each block and
// the end a read of D dv taps + dv parameters. The stream is kept at each site, with what is read
// and written.
func (c DeepDeltaConfig) Cost() layers.Cost {
	d, _, blocks := c.counts()
	dv := float64(c.Dv)
	site := layers.LinearCost(d, 1, true).Plus(layers.LinearCost(d, dv, true), layers.Cost{FLOPs: 4 * d * dv, Activations: d + dv + 1})
	stream := layers.ActivationCost(d * dv)
	total := c.tablesCost(d).Plus(c.lastNormCost())
	block := c.sublayersCost().Plus(site.Plus(stream).Times(2))
	if c.Dv > 1 {
		read := layers.Cost{FLOPs: 2 * d * dv * float64(max(1, c.Conv))}
		reads := layers.Cost{Parameters: dv + d*dv*float64(c.Conv)} // of a block, or of the end
		total = total.Plus(read, reads, stream)
		block = block.Plus(read.Plus(layers.ActivationCost(d)).Times(2), reads)
	}
	return total.Plus(block.Times(blocks))
}
