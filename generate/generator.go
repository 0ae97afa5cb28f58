package generate

import (
	"math"

	"github.com/pkg/errors"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

// alibiReach is how many training rows a model with ALiBi sees by default: linear biases
// extend beyond the distances of training (Press et al. 2022); the loss of a quickstart
// model still falls at 4 times its training length.
const alibiReach = 4

// Options say how a Generator computes. The zero value is ready.
type Options struct {
	Threads   int             // workers an op; 0: all cores
	Device    graph.Device    // where the model runs; "": the CPU
	Precision graph.Precision // of a CUDA device; "": tf32
	// Window is how many tokens the model sees at most. 0 means the training length Seq,
	// and 4 times that with ALiBi. Learned positions allow at most Seq.
	Window int
	// Hooks watch, or change, named activations of the tokens that pass through the model: in order, each token once
	// unless the window slides. Attention patterns cannot be hooked here.
	Hooks graph.Hooks
}

// Generator continues texts with one model. It shares the Store: a Generator made while a
// run trains uses the weights of the moment. It is not safe for concurrent use.
type Generator struct {
	tokenizer data.Tokenizer // nil: the model has none
	vocab     int            // of the model
	program   *models.Compiled
	cache     *graph.Cache
	context   []int32 // the tokens in the cache, at most window
}

// New compiles a generating program: one token a row over a Store that holds the
// parameters of c. The tokenizer's ids must lie in the model's vocabulary; nil makes a
// Generator of ids alone, for a model without a tokenizer. Errors: models.ErrNoParameters,
// *data.VocabularyError, and *layers.SettingError for the window.
func New(store *graph.Store, c models.Spec, t data.Tokenizer, o Options) (*Generator, error) {
	if err := check(store, c, t); err != nil {
		return nil, err
	}
	window, err := o.window(c)
	if err == nil && o.Device != graph.CUDA {
		err = checkWindow(window, c, graph.AvailableMemory())
	}
	if err != nil {
		return nil, err
	}
	g := &Generator{tokenizer: t, vocab: c.Vocab}
	if g.cache, err = graph.NewCache(1, window); err != nil {
		return nil, err
	}
	if err := g.compile(store, c, o); err != nil {
		return nil, errors.Wrap(err, "generate")
	}
	return g, nil
}

func check(store *graph.Store, c models.Spec, t data.Tokenizer) error {
	if err := models.CheckStore(store); err != nil {
		return errors.Wrap(err, "generate")
	}
	if store.DType() != tensor.Float32 {
		return errors.Errorf("generate: want a store of float32, got %v", store.DType())
	}
	if t == nil {
		return nil
	}
	return errors.Wrap(data.CheckVocabulary(t, c.Vocab), "generate")
}

func (o Options) window(c models.Spec) (int, error) {
	switch {
	case o.Window < 0:
		return 0, layers.Setting("window", "want >= 1 tokens (0: as trained), got %d", o.Window)
	case o.Window > c.Seq && c.Attention.Positions == models.PositionsLearned:
		return 0, layers.Setting("window", "want at most %d tokens, the model's learned positions, got %d", c.Seq, o.Window)
	case o.Window > 0:
		return o.Window, nil
	case c.Attention.Positions == models.PositionsALiBi:
		return alibiReach * c.Seq, nil
	}
	return c.Seq, nil
}

// checkWindow refuses a window whose keys and values, two vectors a token, head of them and
// layer, the memory has no room for.
func checkWindow(window int, c models.Spec, available int) error {
	const float32Bytes = 4
	token := 2 * float32Bytes * float64(c.Layers) * float64(c.KVHeads()) * float64(c.HeadDim())
	if need := token * float64(window); need > float64(available) {
		return layers.Setting("window", "want at most %.0f tokens, whose keys and values fill the %s of memory that are available, got %d",
			math.Floor(float64(available)/token), graph.FormatBytes(available), window)
	}
	return nil
}

func (g *Generator) compile(store *graph.Store, c models.Spec, own Options) (err error) {
	o := graph.ProgramOptions{Options: graph.Options{Store: store.Serve(), Threads: own.Threads, Device: own.Device, Precision: own.Precision, Cache: g.cache, Hooks: own.Hooks}}
	g.program, err = models.Compile(c, 1, 1, models.Outputs{Logits: true}, o) // logits [1, vocab]
	return err
}

// Window is how many tokens the model sees at most.
func (g *Generator) Window() int { return g.cache.Capacity() }

// Close ends the program's workers.
func (g *Generator) Close() { g.program.Close() }

// reset forgets all tokens.
func (g *Generator) reset() {
	g.cache.Reset()
	g.context = g.context[:0]
}

// run passes one token through the model, after those in the cache.
func (g *Generator) run(token int32) error {
	g.program.Tokens[0] = token
	g.context = append(g.context, token)
	return g.program.Run(graph.RunOptions{})
}

// logits returns those of all ids after the last run, valid until the next.
func (g *Generator) logits() ([]float32, error) {
	logits, err := graph.Value(g.program.Logits)
	if err != nil {
		return nil, err
	}
	return logits.Float32s()[:g.vocab], nil
}

// drawn is how many ids may be drawn: the tokenizer's, since the model's vocabulary may be
// larger and the ids beyond stand for nothing. Without a tokenizer it is all ids.
func (g *Generator) drawn() int {
	if g.tokenizer == nil {
		return g.vocab
	}
	return g.tokenizer.Vocab()
}
