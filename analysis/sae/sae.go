// Package sae has sparse autoencoders and transcoders of activations: their graphs, their training,
// and the files of SAELens and Gemma Scope.
package sae

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/models/check"
)

// Architecture says how features are computed, in SAELens' words.
type Architecture string

// The architectures. W and b below are W_enc and b_enc; f are the features of an input x, from
// which b_dec is taken first if Config.Centred.
const (
	TopK           Architecture = "topk"            // f = the k largest of x W + b where positive (Gao et al. 2024, arXiv 2406.04093)
	Gated          Architecture = "gated"           // f = relu(exp(r_mag) x W + b_mag) where x W + b_gate > 0 (arXiv 2404.16014)
	JumpReLU       Architecture = "jumprelu"        // f = relu(x W + b) where x W + b > threshold (arXiv 2407.14435); it is not trained here
	Transcoder     Architecture = "transcoder"      // f = relu(x W + b), from which another activation is computed (arXiv 2406.11944)
	SkipTranscoder Architecture = "skip_transcoder" // to which W_skip x is added (arXiv 2501.18823)
)

// Config describes an SAE.
type Config struct {
	Architecture Architecture `json:"architecture"`
	In           int          `json:"d_in"`
	Features     int          `json:"d_sae"`
	Out          int          `json:"d_out,omitempty"` // of a transcoder; 0: In
	K            int          `json:"k,omitempty"`
	Centred      bool         `json:"apply_b_dec_to_input"`
	Metadata     Metadata     `json:"metadata"`
}

// Metadata say what an SAE was trained on.
type Metadata struct {
	Model   string `json:"model_name"`
	Name    string `json:"hook_name"`               // the activation that is read
	To      string `json:"hook_name_out,omitempty"` // the activation that is computed; "": Name
	Context int    `json:"context_size"`            // tokens of a row
	BOS     bool   `json:"prepend_bos"`
	Lens    string `json:"sae_lens_version,omitempty"`
}

// SAE is a sparse autoencoder or transcoder: it computes features f [T, Features] from an
// activation x [T, In], and from them
//
//	y = f W_dec + b_dec (+ W_skip x)    [T, Out]
type SAE struct {
	Config
	Store *graph.Store // W_enc [In, Features], W_dec [Features, Out], b_dec [Out] and what the architecture has
}

// Names are the activations that an SAE reads and computes: one, or two.
func (c Config) Names() []string {
	if c.Metadata.To != "" {
		return []string{c.Metadata.Name, c.Metadata.To}
	}
	return []string{c.Metadata.Name}
}

// Transcodes tells whether another activation is computed than is read.
func (c Config) Transcodes() bool {
	return c.Architecture == Transcoder || c.Architecture == SkipTranscoder
}

// shapes lists the parameters.
func (c Config) shapes() []graph.ParamSpec {
	all := []graph.ParamSpec{{Name: "W_enc", Shape: []int{c.In, c.Features}, Init: graph.Normal(1 / math.Sqrt(float64(c.In)))},
		{Name: "W_dec", Shape: []int{c.Features, c.Out}, Init: graph.Normal(1)},
		{Name: "b_dec", Shape: []int{c.Out}}}
	biases := []string{"b_enc"}
	switch c.Architecture {
	case Gated:
		biases = []string{"b_gate", "b_mag", "r_mag"}
	case JumpReLU:
		biases = append(biases, "threshold")
	case SkipTranscoder:
		all = append(all, graph.ParamSpec{Name: "W_skip", Shape: []int{c.Out, c.In}})
	}
	for _, name := range biases {
		all = append(all, graph.ParamSpec{Name: name, Shape: []int{c.Features}})
	}
	return all
}

// nodes are the nodes of an SAE in a graph.
type nodes struct {
	params              map[string]*gorgonia.Node
	before, features, y *gorgonia.Node // before: what decides which features there are
}

// build makes the nodes that compute features and y from x.
func (c Config) build(b *graph.Builder, x *gorgonia.Node) nodes {
	n := nodes{params: map[string]*gorgonia.Node{}}
	for _, spec := range c.shapes() {
		n.params[spec.Name] = b.Param(spec)
	}
	in := x
	if c.Centred {
		in = linear.Bias(b, x, elementwise.Scale(b, n.params["b_dec"], -1))
	}
	h := linear.Map(b, in, n.params["W_enc"], linear.Options{Bias: n.params["b_enc"]}) // [T, features]
	relu := func(x *gorgonia.Node) *gorgonia.Node { return elementwise.Activate(b, x, kernel.ReLU) }
	switch n.before = h; c.Architecture {
	case TopK:
		n.features = elementwise.TopK(b, h, c.K)
	case Gated:
		n.before = linear.Bias(b, h, n.params["b_gate"])
		factor := stock(b, gorgonia.Exp, elementwise.Scale(b, n.params["r_mag"], 1))
		n.features = elementwise.WherePositive(b, relu(linear.Bias(b, elementwise.Hadamard(b, h, factor), n.params["b_mag"])), n.before)
	case JumpReLU:
		n.before = linear.Bias(b, h, elementwise.Scale(b, n.params["threshold"], -1))
		n.features = elementwise.WherePositive(b, relu(h), n.before)
	default:
		n.features = relu(h)
	}
	n.y = linear.Map(b, n.features, n.params["W_dec"], linear.Options{Bias: n.params["b_dec"]}) // [T, out]
	if c.Architecture == SkipTranscoder {
		n.y = b.Add(n.y, linear.Map(b, x, n.params["W_skip"], linear.Options{Transposed: true}))
	}
	return n
}

// stock makes a node of Gorgonia's own.
func stock(b *graph.Builder, f func(*gorgonia.Node) (*gorgonia.Node, error), x *gorgonia.Node) *gorgonia.Node {
	if b.Err() != nil {
		return nil
	}
	y, err := f(x)
	if err != nil {
		b.Fail(err)
	}
	return y
}

// Runner computes features and outputs of a number of tokens.
type Runner struct {
	program *graph.Program
	sae     *SAE
}

// Open makes a Runner for at most the given number of tokens at a time. Close it after use.
func (s *SAE) Open(tokens int) (*Runner, error) {
	p, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Store: s.Store.Serve()}}, func(b *graph.Builder) (graph.Roots, error) {
		n := s.build(b, b.Input("x", s.Store.DType(), tokens, s.In))
		return graph.Roots{Outputs: gorgonia.Nodes{n.features, n.y}}, b.Err()
	})
	return &Runner{p, s}, err
}

// Close ends the Runner.
func (r *Runner) Close() { r.program.Close() }

// Run returns the features [tokens, Features] and outputs [tokens, Out] of x [tokens, In].
func (r *Runner) Run(x []float64) (features, y []float64, err error) {
	into, tokens := r.program.Input("x"), len(x)/r.sae.In
	if len(x) != tokens*r.sae.In || len(x) > into.DataSize() {
		return nil, nil, check.Valuef("activation", len(x), "%d entries for each of at most %d tokens", r.sae.In, into.DataSize()/r.sae.In)
	}
	if err := graph.SetFloat64s(into, append(slices.Clone(x), make([]float64, into.DataSize()-len(x))...)); err != nil {
		return nil, nil, err
	}
	if err := r.program.Run(graph.RunOptions{}); err != nil {
		return nil, nil, err
	}
	var out [2][]float64
	for i, n := range r.program.Roots().Outputs {
		value, err := graph.Value(n)
		if err != nil {
			return nil, nil, err
		}
		out[i] = graph.Float64s(value)
	}
	return out[0][:tokens*r.sae.Features], out[1][:tokens*r.sae.Out], nil
}

// values returns a copy of a parameter, nil if there is none.
func (s *SAE) values(name string) []float64 {
	if p := s.Store.Param(name); p != nil {
		return graph.Float64s(p.Value)
	}
	return nil
}

// scale multiplies parameters by a factor; those that the SAE lacks are left out.
func (s *SAE) scale(factor float64, names ...string) {
	for _, name := range names {
		if values := s.values(name); values != nil {
			floats.Scale(factor, values)
			_ = graph.SetFloat64s(s.Store.Param(name).Value, values) // as many as there are
		}
	}
}

// normalise gives the rows of W_dec length 1 and returns their lengths.
func (s *SAE) normalise() (lengths []float32) {
	w := s.Store.Param("W_dec").Value.Float32s()
	for ; len(w) > 0; w = w[s.Out:] {
		square := 0.0
		for _, v := range w[:s.Out] {
			square += float64(v) * float64(v)
		}
		length := math.Sqrt(square)
		for i := range s.Out {
			w[i] = float32(float64(w[i]) / length)
		}
		lengths = append(lengths, float32(length))
	}
	return lengths
}

// Direction returns what a feature adds to y: its row of W_dec.
func (s *SAE) Direction(feature int) []float64 {
	row := make([]float64, s.Out)
	for i, v := range s.Store.Param("W_dec").Value.Float32s()[feature*s.Out:][:s.Out] {
		row[i] = float64(v)
	}
	return row
}
