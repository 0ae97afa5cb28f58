package stream

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/norm"
	"github.com/residua-go/residua/graph/ops/shape"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream/linear"
)

// DWLSTMConfig describes a depth-wise LSTM stream.
type DWLSTMConfig struct {
	Vectors
	Inner int `yaml:"inner" default:"4 d_model" from:"model.stream.d_model" max:"1048576" help:"width of the candidate's hidden layer"`
}

// Name returns "dwlstm".
func (DWLSTMConfig) Name() string { return "dwlstm" }

// Card describes the depth-wise LSTM.
func (DWLSTMConfig) Card() layers.Card {
	return layers.Card{
		Title: "Depth-wise LSTM",
		Equation: "s = [MHA(h); h];   i, f, o = sigmoid(Norm(s W) + b);   g = W2 gelu(Norm(s W1))\n" +
			"c <- f ⊙ c + i ⊙ g;   h <- o ⊙ c",
		Source: "Xu et al. 2024, LREC-COLING; the cell's details reconstructed from its abstract and the printed size",
		Use: "Depth as an LSTM's time, instead of residual connections and feed-forwards: gates decide what a block forgets. Its authors find deep " +
			"models to converge. It adds 10 D^2 parameters a block, and leaves no path through the model that nothing multiplies.",
	}
}

// inner returns the width of the candidate's hidden layer.
func (c DWLSTMConfig) inner() int { return orDefault(c.Inner, 4*c.D) }

// Shape returns the shape of a stream of one vector for each token. Its blocks have no
// feed-forward: the stream has maps of its own instead.
func (c DWLSTMConfig) Shape() Shape {
	s := c.shape(c.D)
	s.Sublayers, s.Options = []Sublayer{Attention}, []string{HeadBiasesKey}
	return s
}

// Cost counts cells instead of norms before sublayers: three gates, each kept before and after its
// norm, and the candidate; [a; h], c and h are kept.
func (c DWLSTMConfig) Cost() layers.Cost {
	d, _, blocks := c.counts()
	inner := float64(c.inner())
	gate := layers.LinearCost(2*d, d, true).Plus(layers.Cost{Parameters: d, Activations: 2 * d})
	candidate := layers.LinearCost(2*d, inner, false).Plus(c.Norm.Cost(inner), layers.LinearCost(inner, d, c.Bias), layers.ActivationCost(2*inner+d))
	cell := gate.Times(3).Plus(candidate, layers.ActivationCost(2*d+2*d))
	return c.tablesCost(d).Plus(c.headsCost().Plus(cell).Times(blocks), c.lastNormCost())
}

// New makes the parameters of a depth-wise LSTM stream. None of its products is added directly to
// the stream, so all weights start as hidden weights.
func (c DWLSTMConfig) New(b *graph.Builder) Stream {
	c.AttentionOnly = true
	d := &dwlstm{Vector: startVector(b, c.Vectors), config: c}
	for l := range c.Layers {
		d.addBlock(l, false, c.Init.Hidden)
		d.addCell(lstmName(l))
	}
	d.addLastNorm()
	d.Use(d)
	return d
}

// dwlstm is the stream of a transformer whose depth is an LSTM's time (Xu et al. 2024,
// LREC-COLING, "Rewiring the Transformer with depth-wise LSTMs"): block by block a cell
// takes what attention finds, in place of residual connections and of the feed-forward,
//
//	a = W_O MHA(h);  s = [a; h]
//	i, f, o = sigmoid(Norm(s W) gain + bias), each with its own W [2D, D], gain and bias
//	g = gelu(Norm(s W1) gain) W2
//	c <- f ⊙ c + i ⊙ g;  h <- o ⊙ c
//	h_0 = c_0 = E[token] + P[position];  features = Norm(h)
//
// Attention reads h without a norm. The paper does not specify the whole cell (the norms, the width
// of g, whether there is a tanh); our reading has the size that the RMT paper prints. The forget
// gate's bias starts at 1, the others' at 0. Dropout is applied to g, so that it does not make the
// cell forget (Semeniuta et al. 2016). The state's H is h, and its More is c.
type dwlstm struct {
	*Vector // attention without norms
	config  DWLSTMConfig
	cells   []depthCell
}

// depthCell holds one block's parameters.
type depthCell struct {
	input, forget, output gate
	w1, w2, b2            *gorgonia.Node // [2D, Inner], [Inner, D], [D] or nil
	norm                  *layers.Norm   // over Inner
}

// gate holds the parameters of a gate.
type gate struct{ w, gain, bias *gorgonia.Node } // [2D, D], [D], [D]

func (d *dwlstm) addCell(name string) {
	c := d.config
	cell := depthCell{
		input: d.newGate(name+inputGate, 0), forget: d.newGate(name+forgetGate, 1), output: d.newGate(name+outputGate, 0),
		w1:   d.weight(name+".hidden.w1", 2*c.D, c.inner()),
		norm: layers.NewNorm(d.b, name+".hidden.norm", c.Norm, c.inner()),
		w2:   d.b.Param(c.Init.Hidden(name+".hidden.w2", c.inner(), c.InnerRatio, c.inner(), c.D)),
	}
	if c.Bias {
		cell.b2 = d.b.Param(layers.Zero(name+".hidden.w2_bias", c.D))
	}
	d.cells = append(d.cells, cell)
}

// lstmName returns the prefix of a block's gates, "blocks.3.lstm".
func lstmName(block int) string { return blockName(block) + ".lstm" }

func (d *dwlstm) newGate(name string, bias float64) gate {
	return gate{
		w:    d.weight(name+".w", 2*d.c.D, d.c.D),
		gain: d.b.Param(layers.Gain(name+".norm", d.c.D)),
		bias: d.b.Param(filled(name+".bias", bias, d.c.D)),
	}
}

// Embed looks the tokens up and adds their positions: the first h and the first c.
func (d *dwlstm) Embed(t Tokens) State {
	h := d.embed(t) // [T, D]
	return VectorState{h, gorgonia.Nodes{h}}
}

// Write makes a step of the cell on a = W_O o.
func (d *dwlstm) Write(s State, at Site, _ Reading, a *gorgonia.Node) State {
	cell, state, name := d.cells[at.Block], s.(VectorState), lstmName(at.Block)
	x := shape.Concat(d.b, d.Hook(at, ".write", a), state.H) // [T, 2D]
	g := d.b.Hook(name+".candidate", d.candidate(cell, name, x), "feature")
	c, h := elementwise.LSTMCell(d.b, state.More[0], elementwise.LSTMGates{
		Input: d.open(cell.input, name+inputGate, x), Forget: d.open(cell.forget, name+forgetGate, x), Output: d.open(cell.output, name+outputGate, x),
		Candidate: elementwise.Dropout(d.b, g, d.c.Dropout)})
	return VectorState{d.Hook(at, ".stream", h), gorgonia.Nodes{d.b.Hook(name+".cell", c, "feature")}}
}

// open returns a gate before its sigmoid: [T, 2D] -> [T, D].
func (d *dwlstm) open(g gate, name string, x *gorgonia.Node) *gorgonia.Node {
	z := norm.Apply(d.b, mapped(d.b, x, g.w, nil), g.gain, norm.Options{RMS: d.c.Norm.RMS, Eps: d.c.Norm.Eps, Bias: g.bias})
	return d.b.Hook(name+gateLogits, z, "feature")
}

// gateLogits is the end of the name of a gate before its sigmoid, "blocks.3.lstm.input.logits".
const gateLogits = ".logits"

// The names of the gates, which follow the name of their cell.
const (
	inputGate  = ".input"
	forgetGate = ".forget"
	outputGate = ".output"
)

// candidate returns g: [T, 2D] -> [T, D].
func (d *dwlstm) candidate(cell depthCell, name string, x *gorgonia.Node) *gorgonia.Node {
	hidden := cell.norm.Forward(mapped(d.b, x, cell.w1, nil)) // [T, Inner]
	hidden = d.b.Hook(name+".activations", elementwise.Gelu(d.b, hidden, d.c.ExactGelu), "neuron")
	return mapped(d.b, hidden, cell.w2, cell.b2)
}

// ReadFeatures fails: there is no feed-forward site.
func (d *dwlstm) ReadFeatures(_ State, at Site) (*gorgonia.Node, Link) {
	d.b.Fail(errors.Errorf("stream: dwlstm: %s: want a site that Sites lists, attention alone, got a feed-forward's", at.Name()))
	return nil, nil
}

// Form describes the cell, with c as h: c' = f ⊙ c + i ⊙ g, where gates are factors of D entries.
// The gains of their norms start at 1.
func (d *dwlstm) Form(at Site) Form {
	cell := d.cells[at.Block]
	gate := func(g gate, start string) Coefficient {
		c := Dependent.diagonal(d.c.D, d.c.D, "D x D", Start{Text: start}, g.w, g.gain, g.bias)
		c.Constraint = WithinOne
		return c
	}
	return Form{
		Site: at.Name(),
		Res:  gate(cell.forget, "sigmoid(1 + Norm(..))"),
		Down: fixed(1, "1 x 1"),
		Up:   gate(cell.input, "sigmoid(Norm(..))"),
		Beyond: []Term{
			{"A_res and B_up are the cell's, c' = f ⊙ c + i ⊙ g; the stream is h' = o ⊙ c', gated again",
				nodeNames(cell.output.w, cell.output.gain, cell.output.bias)},
			{"F is g, made of attention's output and of h: the cell stands in the feed-forward's place", nodeNames(cell.w1, cell.w2, cell.b2)},
		},
		Source: "Xu et al. 2024, LREC-COLING (depth-wise LSTM)",
	}
}

// Writers lists the tables and the hidden neurons of the cells' candidates. Heads write no term:
// they reach the stream only through the cell.
func (d *dwlstm) Writers() []Writer {
	writers := tableWriters(d.positions != nil, d.scale)
	for l, cell := range d.cells {
		name, inner := lstmName(l), d.config.inner()
		writers = append(writers, Writer{Name: name, Part: "neuron", Parts: inner, Activation: name + ".activations", Weight: cell.w2.Name(),
			Bias: nodeName(cell.b2), Reads: 3*d.c.D + inner, Source: name})
	}
	return writers
}

// Static returns nil: sites write through gates, which need a run.
func (d *dwlstm) Static() *Frozen { return nil }

// Carry describes h and c, side by side: c' = f ⊙ c, to which i ⊙ g is added, and h' = o ⊙ c'.
func (d *dwlstm) Carry(f *Frozen) {
	row := func(i int) linear.Map { return linear.Row(2, i, d.c.D) }
	d.CarrySites(f, copies(2, d.c.D), func(at Site) {
		name := lstmName(at.Block)
		f.Read(at.Name(), row(0), nil)
		f.Step(linear.Chain{row(1), d.frozenGate(f, name+forgetGate)}) // only c
		f.Write(name, d.frozenGate(f, name+inputGate))
		f.Step(linear.Stack{d.frozenGate(f, name+outputGate), linear.Identity(d.c.D)})
	})
	d.CarryEnd(f, row(0))
}

// frozenGate returns the map that multiplies by a gate's sigmoid in the run.
func (d *dwlstm) frozenGate(f *Frozen, name string) linear.Map {
	return linear.Scale{Factors: opened(1, f.Recorded(name+gateLogits, d.c.D)), Size: d.c.D}
}
