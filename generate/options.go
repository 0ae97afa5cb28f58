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

const (
	// alibiReach is how many times its training length a model with ALiBi sees by default. Linear
	// biases work beyond the distances of training (Press et al. 2022); the loss of a quickstart
	// model still falls at 4 times its training length.
	alibiReach = 4
	// defaultRows is how many texts are continued at a time.
	defaultRows = 8
	// defaultQueue is how many requests may wait.
	defaultQueue = 1024
)

// Options say how a Generator computes. The zero value is ready to use.
type Options struct {
	Threads int          // workers an op; 0: all cores
	Device  graph.Device // where the model runs; "": the CPU
	// Precision, on a CUDA device, is the precision of products; "": tf32. On the CPU, bf16 and
	// int8 store the weights in fewer bits (graph.Options.For); "": float32.
	Precision graph.Precision
	// Release drops, on the CPU, the float32 values of weights that are stored in fewer bits. The
	// Store is then of no use to anything but this Generator.
	Release bool
	// Window is the largest number of tokens that the model sees. 0 means the training length Seq,
	// or 4 times Seq with ALiBi, or original_seq with longrope. In a longer window, longrope uses
	// its long factors, for texts of any length. With learned positions Window can be at most Seq.
	Window int
	// Rows is how many texts are continued at a time, each with its own keys and values; 0: 8, or
	// fewer if they do not fit in memory.
	Rows int
	// Queue is how many more requests may wait before the next one is refused with ErrBusy; 0:
	// 1024.
	Queue int
	// EOS are the ids that end a text of a model without a tokenizer, if there are any; a tokenizer
	// has its own (data.EOS).
	EOS []int32
	// Hooks watch or change named activations of the tokens that pass through the model.
	// Tokens pass in order, one text and one token at a time, each once unless the window
	// slides, and none after Generate has returned. Attention patterns cannot be hooked here.
	Hooks graph.Hooks
}

func check(store *graph.Store, spec models.Spec, t data.Tokenizer) error {
	if err := models.CheckStore(store); err != nil {
		return errors.Wrap(err, "generate")
	}
	if store.DType() != tensor.Float32 {
		return errors.Errorf("generate: want a store of float32, got %v", store.DType())
	}
	if t == nil {
		return nil
	}
	return errors.Wrap(data.CheckVocabulary(t, spec.Vocab), "generate")
}

// sizes returns the window and the number of rows whose keys and values fit in the available
// memory.
func (o Options) sizes(spec models.Spec, available int) (window, rows int, err error) {
	if window, err = o.window(spec); err != nil {
		return 0, 0, err
	}
	switch {
	case o.Rows < 0:
		return 0, 0, layers.Setting("rows", "want >= 1 texts at a time (0: %d), got %d", defaultRows, o.Rows)
	case o.Queue < 0:
		return 0, 0, layers.Setting("queue", "want >= 0 requests that wait (0: %d), got %d", defaultQueue, o.Queue)
	case len(o.Hooks) > 0 && o.Rows > 1:
		return 0, 0, layers.Setting("rows", "want one text at a time with hooks, got %d", o.Rows)
	}
	if rows = o.Rows; rows == 0 && len(o.Hooks) > 0 {
		rows = 1
	}
	if o.Device.OnGPU() {
		if rows == 0 {
			rows = defaultRows
		}
		return window, rows, nil
	}
	fit := float64(available) / cacheBytes(spec) // number of tokens that fit
	if rows == 0 {
		rows = int(max(1, min(defaultRows, fit/2/float64(window))))
	}
	switch {
	case fit < float64(window):
		return 0, 0, layers.Setting("window", "want at most %.0f tokens, whose keys and values fill the %s of memory that are available, got %d",
			math.Floor(fit), graph.FormatBytes(available), window)
	case fit < float64(window)*float64(rows):
		return 0, 0, layers.Setting("rows", "want at most %.0f texts of %d tokens at a time, whose keys and values fill the %s of memory that are available, got %d",
			math.Floor(fit/float64(window)), window, graph.FormatBytes(available), rows)
	}
	return window, rows, nil
}

func (o Options) window(spec models.Spec) (int, error) {
	switch {
	case o.Window < 0:
		return 0, layers.Setting("window", "want >= 1 tokens (0: as trained), got %d", o.Window)
	case o.Window > spec.Seq && spec.Attention.Positions == models.PositionsLearned:
		return 0, layers.Setting("window", "want at most %d tokens, the model's learned positions, got %d", spec.Seq, o.Window)
	case o.Window > 0:
		return o.Window, nil
	case spec.Attention.Positions == models.PositionsALiBi:
		return alibiReach * spec.Seq, nil
	case spec.Attention.RopeScaling.Type == layers.RopeLong:
		return min(spec.Seq, spec.Attention.RopeScaling.OriginalSeq), nil
	}
	return spec.Seq, nil
}

// cacheBytes returns the bytes of one token's keys and values.
func cacheBytes(spec models.Spec) float64 {
	const float32Bytes = 4
	return float32Bytes * float64(spec.CacheEntries())
}
