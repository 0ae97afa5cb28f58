package sae

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"gonum.org/v1/gonum/floats"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/ops/loss"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/optim"
)

// Options say how an SAE is trained.
type Options struct {
	// Architecture is TopK where it is "".
	Architecture Architecture `yaml:"architecture" default:"topk" choices:"topk, gated, transcoder, skip_transcoder"`
	Features     int          `yaml:"features" min:"0" max:"10000000" help:"learn <N> features; 0: twice as many as a token's activation has entries"`
	K            int          `yaml:"k" default:"32" min:"1" max:"100000" help:"topk: give each token at most <N> features"`
	Sparsity     float64      `yaml:"sparsity" default:"0.1" min:"0" help:"not topk: add <W> times the sum of a token's features to the loss"`
	Rate         float64      `yaml:"rate" default:"0.001" min:"1e-9" max:"1" help:"train at peak rate <R>, of Adam; it falls to 0 over the last fifth"`
	Batch        int          `yaml:"batch" default:"1024" min:"1" max:"1000000" help:"take a step for each <N> tokens"`
	Passes       int          `yaml:"passes" default:"1" min:"1" max:"1000000" help:"read the text <N> times"`
	Seed         uint64       `yaml:"seed" default:"1" help:"seed the parameters and the order of tokens with <N>"`
}

// Help returns the help text that is too long for a tag.
func (Options) Help() map[string]string {
	return map[string]string{"architecture": "train <A>: topk, gated, or transcoder or skip_transcoder, which compute activation -to from -name"}
}

const (
	chunkBatches = 16 // batches whose tokens are shuffled together
	deadSteps    = 64 // a feature is dead if it has not been active in that many steps
	auxiliary    = 1. / 32
	saveEvery    = 30 * time.Second
)

// Data are the activations that an SAE is trained on, in rows of tokens.
type Data struct {
	Digest string // of the model and the text
	Rows   []int  // the rows to train on
	Tokens func(row int) int
	// Row returns a row's x [tokens, In] and what is computed from it, want [tokens, Out].
	Row func(row int) (x, want []float64, err error)
}

// trainer trains an SAE on activations scaled to a mean squared distance of 1 from their mean.
type trainer struct {
	*SAE
	o         Options
	data      Data
	program   *graph.Program
	optimizer *optim.Optimizer
	dead      *tensor.Dense // 1 for dead features, else 0; nil: the architecture does not ask
	chunks    [][]int       // rows whose tokens are shuffled together
	state     state
}

// Train trains an SAE and returns it, for activations that are not scaled. It keeps its state in a
// file: after an interrupt the same call goes on from there, and returns the same bits as without
// the interrupt. Train calls done with the number of parts that are trained, and the number of all
// parts.
func Train(ctx context.Context, c Config, d Data, o Options, file string, done func(done, total int)) (*SAE, error) {
	c.Architecture, c.Features, c.Centred = o.Architecture, o.Features, !Config{Architecture: o.Architecture}.Transcodes()
	if c.Features == 0 {
		c.Features = 2 * c.In
	}
	if c.Architecture == TopK {
		if c.K = o.K; c.K > c.Features {
			return nil, check.Valuef("k", c.K, "at most the number of features, %d", c.Features)
		}
	}
	t := &trainer{SAE: &SAE{c, nil}, o: o, data: d}
	steps := t.plan()
	if steps == 0 {
		return nil, check.Valuef("rows", len(d.Rows), "rows with at least %d tokens to train on", o.Batch)
	}
	if err := t.open(steps); err != nil {
		return nil, err
	}
	defer t.program.Close()
	defer t.optimizer.Close()
	if err := t.load(file); err != nil {
		return nil, err
	}
	for saved := time.Now(); t.state.Chunk < len(t.chunks); {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := t.chunk(ctx); err != nil {
			return nil, err
		}
		if done(t.state.Chunk, len(t.chunks)); t.state.Chunk == len(t.chunks) || time.Since(saved) > saveEvery || ctx.Err() != nil {
			if err := t.save(file); err != nil {
				return nil, err
			}
			saved = time.Now()
		}
	}
	t.unscale()
	return t.SAE, nil
}

// plan deals rows out to chunks, pass by pass, and returns the number of steps.
func (t *trainer) plan() (steps int) {
	for pass := range t.o.Passes {
		var chunk []int
		tokens := 0
		order := rand.New(rand.NewPCG(t.o.Seed, uint64(pass))).Perm(len(t.data.Rows))
		for i, at := range order {
			row := t.data.Rows[at]
			chunk, tokens = append(chunk, row), tokens+t.data.Tokens(row)
			if tokens >= chunkBatches*t.o.Batch || i == len(order)-1 {
				t.chunks = append(t.chunks, chunk)
				steps += tokens / t.o.Batch
				chunk, tokens = nil, 0
			}
		}
	}
	return steps
}

// open compiles the training program and makes the optimizer.
func (t *trainer) open(steps int) (err error) {
	t.Store = graph.NewStore(tensor.Float32, t.o.Seed)
	options := graph.ProgramOptions{Options: graph.Options{Store: t.Store}, Gradients: true}
	t.program, err = graph.Compile(options, func(b *graph.Builder) (graph.Roots, error) {
		want := b.Input("want", tensor.Float32, t.o.Batch, t.Out)
		n := t.build(b, b.Input("x", tensor.Float32, t.o.Batch, t.In))
		return graph.Roots{Loss: t.o.loss(t.Config, b, n, want), Outputs: gorgonia.Nodes{n.features}}, b.Err()
	})
	if err != nil {
		return err
	}
	if t.dead = t.program.Input("dead"); t.dead == nil {
		t.dead = tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(t.Features))
	}
	t.state.idle = make([]int32, t.Features)
	fall := max(1, steps/5)
	t.optimizer, err = optim.New(t.Store, 0, optim.Clip(1), optim.Rate(t.o.Rate, optim.WarmupStableDecay{Total: steps, Decay: fall}))
	return err
}

// loss returns the squared error plus a term that keeps features few and alive. For TopK, the
// largest dead features, positive or not, predict the error that is left, and the term is 1/32 of
// the squared error of this prediction (Gao et al. 2024, section 2.4). For all other architectures
// the term is Sparsity times the sum of the features. A gated SAE takes the features before its
// gate for this sum. From these alone it also predicts the output, with a decoder that this loss
// does not change, and adds the squared error (arXiv 2404.16014, equation 8).
func (o Options) loss(c Config, b *graph.Builder, n nodes, want *gorgonia.Node) *gorgonia.Node {
	total := loss.SquaredError(b, n.y, want)
	tokens := float64(want.Shape()[0])
	sum := func(x *gorgonia.Node) (*gorgonia.Node, error) { return gorgonia.Sum(x) }
	switch c.Architecture {
	case TopK:
		dead := b.Input("dead", tensor.Float32, c.Features)
		largest := elementwise.TopK(b, elementwise.Hadamard(b, elementwise.Sigmoid(b, n.before), dead), min(max(1, c.In/2), c.Features))
		again := linear.Map(b, elementwise.WherePositive(b, n.before, largest), n.params["W_dec"], linear.Options{}) // [T, out]
		rest := b.Add(want, elementwise.Scale(b, n.y, -1))                                                           // [T, out]
		return b.Add(total, elementwise.Scale(b, loss.SquaredError(b, again, rest), auxiliary))
	case Gated:
		n.features = elementwise.Activate(b, n.before, kernel.ReLU)
		decoder := linear.Options{Bias: elementwise.Detach(b, n.params["b_dec"])}
		alone := linear.Map(b, n.features, elementwise.Detach(b, n.params["W_dec"]), decoder) // [T, out]
		total = b.Add(total, loss.SquaredError(b, alone, want))
	}
	return b.Add(total, elementwise.Scale(b, stock(b, sum, n.features), o.Sparsity/tokens))
}

// chunk trains on the next chunk.
func (t *trainer) chunk(ctx context.Context) error {
	var x, want []float64
	for _, row := range t.chunks[t.state.Chunk] {
		in, out, err := t.data.Row(row)
		if err != nil {
			return err
		}
		x, want = append(x, in...), append(want, out...)
	}
	if t.state.Scale[0] == 0 {
		if err := t.begin(x, want); err != nil {
			return err
		}
	}
	tokens := len(x) / t.In
	order := rand.New(rand.NewPCG(t.o.Seed, 1<<32+uint64(t.state.Chunk))).Perm(tokens)
	for ; len(order) >= t.o.Batch; order = order[t.o.Batch:] {
		for i, token := range order[:t.o.Batch] {
			put(t.program.Input("x"), i, x[token*t.In:][:t.In], t.state.Scale[0])
			put(t.program.Input("want"), i, want[token*t.Out:][:t.Out], t.state.Scale[1])
		}
		if err := t.step(ctx); err != nil {
			return err
		}
	}
	t.state.Chunk++
	return nil
}

// put writes a token's scaled values.
func put(into *tensor.Dense, token int, values []float64, scale float64) {
	to := into.Float32s()[token*len(values):]
	for i, v := range values {
		to[i] = float32(scale * v)
	}
}

// step takes a step on the inputs, after which rows of W_dec have length 1 again.
func (t *trainer) step(ctx context.Context) error {
	for i, n := range t.state.idle {
		t.dead.Float32s()[i] = 0
		if int(n) >= deadSteps {
			t.dead.Float32s()[i] = 1
		}
	}
	if err := t.program.Run(graph.RunOptions{Context: ctx}); err != nil {
		return err
	}
	features, err := graph.Value(t.program.Roots().Outputs[0])
	if err != nil {
		return err
	}
	for i := range t.state.idle {
		t.state.idle[i]++
	}
	for i, f := range features.Float32s() {
		if f > 0 {
			t.state.idle[i%t.Features] = 0
		}
	}
	if _, err := t.optimizer.Step(1); err != nil {
		return err
	}
	t.normalise()
	return nil
}

// begin sets the scales, b_dec to the mean of want and, of an autoencoder, W_enc to the transpose
// of W_dec.
func (t *trainer) begin(x, want []float64) error {
	for i, values := range [][]float64{x, want} {
		width := []int{t.In, t.Out}[i]
		mean := make([]float64, width)
		for j, v := range values {
			mean[j%width] += v * float64(width) / float64(len(values))
		}
		square := 0.0
		for j, v := range values {
			square += (v - mean[j%width]) * (v - mean[j%width]) * float64(width) / float64(len(values))
		}
		if !(square > 0) || math.IsInf(square, 1) {
			return check.Value("activation", "finite values that differ from token to token", square)
		}
		t.state.Scale[i] = 1 / math.Sqrt(square)
		floats.Scale(t.state.Scale[i], mean)
		_ = graph.SetFloat64s(t.Store.Param("b_dec").Value, mean) // of want, which comes last
	}
	t.normalise()
	if t.Transcodes() {
		return nil
	}
	decoder, encoder := t.values("W_dec"), t.Store.Param("W_enc").Value.Float32s()
	for i := range encoder {
		encoder[i] = float32(decoder[i%t.Features*t.Out+i/t.Features])
	}
	return nil
}

// unscale changes the parameters so that the SAE reads and computes activations that are not
// scaled.
func (t *trainer) unscale() {
	in, out := t.state.Scale[0], t.state.Scale[1]
	t.scale(1/in, "b_enc", "b_gate", "b_mag")
	t.scale(1/out, "b_dec")
	t.scale(in/out, "W_dec", "W_skip")
}
