package stream

import (
	"cmp"
	"math"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/mix"
	"github.com/residua-go/residua/graph/ops/shape"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream/linear"
)

// WideConfig describes a wide residual, in one of two forms.
type WideConfig struct {
	Vectors
	Form      string  `yaml:"form" default:"streams"`
	N         int     `yaml:"n" default:"4 of streams" max:"64" help:"of streams: number of rows"`
	Retention bool    `yaml:"retention" help:"of streams: a learned factor for each row carries it past a site"`
	MaxForget float64 `yaml:"max_forget" default:"0.1 with retention" help:"of streams with retention: the most that a site can take off a row"`
	Width     int     `yaml:"width" default:"2*d_model of latent" max:"131072" help:"of latent: width of the stream, the tables and the unembedding"`
}

// Help returns the help texts that are too long for tags, by key.
func (WideConfig) Help() map[string]string {
	return map[string]string{
		"form": "streams: n copies of the stream, each with a factor to read it and one to write it; latent: a stream of another width " +
			"than sublayers, which a map reads and another writes",
	}
}

// The forms of WideConfig.
const (
	wideStreams = "streams"
	wideLatents = "latent"
)

// The initial values of rows: wideSpread is how much the writes to them differ, and wideKeep how
// much of them a site keeps.
const (
	wideSpread = 0.01
	wideKeep   = 0.999
)

// Name returns "wide".
func (WideConfig) Name() string { return "wide" }

// Variant returns the form.
func (c WideConfig) Variant() string { return cmp.Or(c.Form, wideStreams) }

// Card describes wide residuals.
func (c WideConfig) Card() layers.Card {
	if c.Form == wideLatents {
		return layers.Card{
			Title: "Wide residual, latent",
			Equation: "x <- x + F(RMSNorm(Norm(x) W_down)) W_up\n" +
				"logits = Norm(x) W_U          x has W entries, F works on D",
			Source: "marin, pull request 9295",
			Use: "A stream of any width around sublayers of another, which read and write it by a map each. It is not cheap: a site costs 4 W D FLOPs and 2 " +
				"W D parameters, and tables and unembedding are as wide as the stream. At W = 2 d_model and GPT-2's vocabulary that is 83% more parameters and " +
				"74% more FLOPs than the transformer's; its source has a vocabulary of 16,000. No transformer at any start.",
		}
	}
	return layers.Card{
		Title: "Wide residual, streams",
		Equation: "u = sum_i sigmoid(a_i) X_i;   X_i <- rho_i X_i + 2 sigmoid(b_i) F(u);   rho_i = 1, or 1 - f sigmoid(-c_i)\n" +
			"logits = Norm(sum_i sigmoid(a'_i) X_i) W_U          X is n x D; a, b, c learned, of each site",
		Source: "Megatron-LM, pull requests 6716, 6855 and 7440",
		Use: "n copies of the stream, read and written by 2n numbers a site, never mixed and never dependent on the input: static hyper-connections with " +
			"bounds. It widens what is carried as the RMT does, at hardly any parameters or FLOPs, and so is its fairest competitor. It starts as the " +
			"transformer but for rounding, with retention near it. What it costs is memory: n times the stream.",
	}
}

// Defaults sets 4 rows, of which a site keeps at least nine tenths, or a stream twice as wide as
// the sublayers.
func (c WideConfig) Defaults() Design {
	switch c.Form = c.Variant(); c.Form {
	case wideStreams:
		c.N = orDefault(c.N, defaultRows)
		if c.Retention {
			c.MaxForget = orDefault(c.MaxForget, 0.1)
		}
	case wideLatents:
		c.Width = orDefault(c.Width, 2*c.D)
		if c.N == defaultRows { // a config's section begins with this default
			c.N = 0
		}
	}
	return c
}

// Check returns an error for settings of another form. Streams need at least two rows, which start
// differently, and a bound that allows their initial values; latents need a width.
func (c WideConfig) Check() error {
	form := "form: " + c.Form
	err := cmp.Or(c.Vectors.Check(), layers.CheckChoice("form", c.Form, wideStreams, wideLatents),
		layers.CheckOnly("form: streams", form, map[string]bool{"n": c.N != 0, "retention": c.Retention, "max_forget": c.MaxForget != 0}),
		layers.CheckOnly("form: latent", form, map[string]bool{"width": c.Width != 0}))
	switch {
	case err != nil:
		return err
	case c.Form == wideLatents:
		return layers.CheckSize("width", c.Width)
	case c.N < 2 || c.N > maxMHCRows:
		return layers.Setting("n", "want 2 to %d for the %s stream, got %d", maxMHCRows, c.Name(), c.N)
	case !c.Retention && c.MaxForget != 0:
		return layers.Setting("max_forget", "want retention: true with it, got %g alone", c.MaxForget)
	case c.Retention && !(c.MaxForget > 1-wideKeep && c.MaxForget <= 1):
		return layers.Setting("max_forget", "want above %.3g, what a site takes off at first, and at most 1, got %g", 1-wideKeep, c.MaxForget)
	}
	return nil
}

// Shape returns the shape of a stream of N rows or, with latents, of a stream and tables of the
// given Width, which differs from the sublayers'.
func (c WideConfig) Shape() Shape {
	if c.Form != wideLatents {
		return c.shape(c.N * c.D)
	}
	s := c.shape(c.Width)
	s.TableWidth, s.Features, s.AddsOutput = c.Width, c.Width, false
	return s
}

// Plain returns a vector stream, whatever is written to the rows: a read with weights 1/n takes
// their mean, and the mean of what is written to them is F(u). It returns false with retention,
// which takes something away, and with latents, which no transformer has.
func (c WideConfig) Plain() (Design, bool) {
	return c.plain(c.Form != wideLatents && !c.Retention)
}

// Cost counts 2 or 3 numbers for each row and site, and the last read; or the maps and norms of
// latents.
func (c WideConfig) Cost() layers.Cost {
	if c.Form == wideLatents {
		return c.latentCost()
	}
	n, d := float64(c.N), float64(c.D)
	numbers := 2 * n
	if c.Retention {
		numbers += n
	}
	return c.RowsCost(c.N, false, layers.Cost{Parameters: numbers}).Plus(layers.Cost{Parameters: n, FLOPs: 2 * n * d, Activations: n * d})
}

// New makes the parameters of a form.
func (c WideConfig) New(b *graph.Builder) Stream {
	if c.Form == wideLatents {
		return newWideLatent(b, c)
	}
	s := &wide{rows: newRows(b, c.Vectors, packing{n: c.N, m: 1}, RowOptions{}, c.newMixer(b), nil)}
	s.last = b.Param(c.filled("wide.read", -math.Log(float64(c.N-1)), 1))
	s.Use(s)
	return s
}

// wide is Megatron-LM's wide residual: n rows X [n, D] that start as copies of the embedding, and
//
//	u = sum_i sigmoid(a_i) X_i;   X_i <- rho_i X_i + 2 sigmoid(b_i) F(u);   features = Norm(sum_i sigmoid(a'_i) X_i)
//
// with rho_i = 1, or with retention 1 - max_forget sigmoid(-c_i). At first sigmoid(a_i) = 1/n,
// rho_i = 0.999, and b_i goes from -0.01 to 0.01, which tells the rows apart. Nothing decays.
//
// Parameters of a site: "wide.read" and "wide.write" [n, 1], "wide.keep" [n]; of the model:
// "wide.read".
type wide struct {
	*rows
	last *gorgonia.Node // the last read [n, 1]
}

// filled makes a parameter [n, ...] that starts at one number.
func (c WideConfig) filled(name string, x float64, shape ...int) graph.ParamSpec {
	return constant(name, slices.Repeat([]float64{x}, c.N), append([]int{c.N}, shape...)...)
}

// newMixer returns a function that makes coefficients from a site's numbers.
func (c WideConfig) newMixer(b *graph.Builder) func(at Site) RowMixer {
	n := c.N
	diagonal := func(near *gorgonia.Node, entry float64) *gorgonia.Node {
		return shape.Constant(b, near, table(n, n, func(i, j int) float64 { return entry * indicator(i == j) }), n, n)
	}
	var carried, forget *gorgonia.Node // [n, n], for all sites: 1, and the largest part that a row loses
	return func(at Site) RowMixer {
		name := at.Name() + ".wide"
		read := b.Param(c.filled(name+".read", -math.Log(float64(n-1)), 1))
		spread := table(n, 1, func(i, _ int) float64 { return wideSpread * (2*float64(i)/float64(n-1) - 1) })
		write := b.Param(constant(name+".write", spread, n, 1))
		if carried == nil {
			carried = diagonal(read, 1)
		}
		var keep *gorgonia.Node // [n]; nil: rows are kept
		if c.Retention {
			if forget == nil {
				forget = diagonal(read, -c.MaxForget)
			}
			q := (1 - wideKeep) / c.MaxForget
			keep = b.Param(c.filled(name+".keep", math.Log((1-q)/q)))
		}
		return RowMixer{Coefficients: func(*gorgonia.Node) *gorgonia.Node {
			carry := carried
			if keep != nil {
				carry = elementwise.AddScaled(b, carry, forget, elementwise.Sigmoid(b, elementwise.Scale(b, keep, -1)))
			}
			return shape.Concat(b, elementwise.Sigmoid(b, read), carry, elementwise.Scale(b, elementwise.Sigmoid(b, write), 2)) // [n, n+2]
		}, Form: func() Form { return c.form(read, write, keep, spread) }}
	}
}

// form describes a factor for each row by which it is read, carried and written.
func (c WideConfig) form(read, write, keep *gorgonia.Node, spread []float64) Form {
	n := c.N
	f := Form{Res: fixed(n, "n x n"), Source: "Megatron-LM, pull requests 6716, 6855 and 7440",
		Down:   Learned.coefficient(1, n, "1 x n", even(n, "1/n", 1/float64(n)), read),
		Up:     Learned.coefficient(n, 1, "n x 1", Start{"2 sigmoid(-0.01) to 2 sigmoid(0.01)", opened(2, spread)}, write),
		Beyond: []Term{{"the last norm reads the rows by weights of its own", []string{"wide.read"}}}}
	f.Down.Constraint, f.Up.Constraint = WithinOne, WithinTwo
	if keep != nil {
		kept := table(n, n, func(i, j int) float64 { return wideKeep * indicator(i == j) })
		f.Res = Learned.coefficient(n, n, "n x n", Start{startsOnDiagonal(wideKeep) + ", 0 elsewhere", kept}, keep)
		f.Res.Constraint = WithinOne
	}
	return f
}

// End reads the rows with separate weights.
func (s *wide) End(state State) *gorgonia.Node {
	rest := shape.Constant(s.b, s.last, make([]float64, s.n*(s.n+1)), s.n, s.n+1) // columns that are not used
	c := shape.Concat(s.b, elementwise.Sigmoid(s.b, s.last), rest)                // [n, n+2]
	return mix.Read(s.b, state.(VectorState).H, c, 1)
}

// Carry carries the rows and reads them at the end with separate weights; without a run it takes
// their mean.
func (s *wide) Carry(f *Frozen) {
	s.rows.Carry(f)
	if f.record != nil {
		s.readOut(f, linear.Rows(s.c.D, opened(1, s.values(s.last))))
	}
}
