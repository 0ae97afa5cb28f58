package models

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/ops/embedding"
)

// The names of a compiled model's inputs.
const (
	inputTokens  = "tokens"
	inputTargets = "targets"
	inputAt      = "logits at"
	inputWeights = "logit weights"
)

// Outputs says what a compiled model computes in a run. Outputs that are not asked for are not
// built.
type Outputs struct {
	Loss         bool      // the scalar of Model.Loss, Program.Roots().Loss
	Auxiliary    Auxiliary // what Loss adds to the cross-entropy
	TokenLosses  bool      // -log p(target) of each token, [tokens]
	Logits       bool      // [tokens, vocab]
	LogitsAt     int       // with Logits: compute logits only for this many tokens, [LogitsAt, vocab], named by Compiled.At; 0: for all
	LogitSum     bool      // with Logits: the scalar sum of Logits times Compiled.Weights, Program.Roots().Loss, instead of Loss
	Features     bool      // what the stream is read out as, [tokens, ...]
	ExpertCounts bool      // with a mixture of experts: assignments of each expert, [experts] a block
}

// Compiled is a model compiled into a program over a Store: fill Tokens (and Targets), Run,
// read the outputs with graph.Value, graph.Scalar and loss.Parts.
type Compiled struct {
	*graph.Program
	Model                         *Model
	Tokens                        []int32        // the program's input, [rows*seq] token ids
	Targets                       []int32        // likewise; nil unless a loss is computed
	At                            []int32        // with LogitsAt: which tokens have logits, by their index in Tokens
	Weights                       *tensor.Dense  // with LogitSum: of the logits' shape
	Features, Logits, TokenLosses *gorgonia.Node // nil unless asked for
	ExpertCounts                  gorgonia.Nodes
}

// Compile compiles a model for batches of rows x seq tokens. The options name the Store and the
// device and say whether to compute gradients; if there is a Store, its DType replaces o.DType.
// Compile returns an error if the options do not fit the model.
func Compile(spec Spec, rows, seq int, want Outputs, o graph.ProgramOptions) (*Compiled, error) {
	if o.Store != nil {
		o.DType = o.Store.DType()
	}
	m := &Compiled{}
	var err error
	m.Program, err = graph.Compile(o, func(b *graph.Builder) (graph.Roots, error) { return m.build(b, spec, rows, seq, want) })
	if err != nil {
		return nil, err
	}
	m.Tokens = m.Ints(inputTokens)
	if want.Loss || want.TokenLosses {
		m.Targets = m.Ints(inputTargets)
	}
	if want.Logits && want.LogitsAt > 0 {
		m.At = m.Ints(inputAt)
	}
	m.Weights = m.Input(inputWeights)
	return m, nil
}

// PredictMemory returns the memory that Compile with the same arguments would take, on a GPU or,
// for the CPU, on the machine. It allocates nothing and needs no GPU.
func PredictMemory(spec Spec, rows, seq int, want Outputs, o graph.ProgramOptions) (graph.MemoryNeed, error) {
	var m Compiled
	return graph.PredictMemory(o, func(b *graph.Builder) (graph.Roots, error) { return m.build(b, spec, rows, seq, want) })
}

// Record returns what a run of the model that Compile makes from the same arguments would ask of a
// GPU. It needs no GPU.
func Record(spec Spec, rows, seq int, want Outputs, o graph.ProgramOptions, r *cuda.Recorder) (*graph.Recording, error) {
	var m Compiled
	return graph.Record(o, r, func(b *graph.Builder) (graph.Roots, error) { return m.build(b, spec, rows, seq, want) })
}

// build makes the nodes. graph.Compile may call it more than once.
func (m *Compiled) build(b *graph.Builder, spec Spec, rows, seq int, want Outputs) (roots graph.Roots, err error) {
	if m.Model, err = On(b, spec); err != nil {
		return roots, err
	}
	m.Features = m.Model.Forward(b.Input(inputTokens, tensor.Int32, rows, seq)) // [tokens, ...]
	if want.Loss || want.TokenLosses {
		targets := b.Input(inputTargets, tensor.Int32, rows, seq)
		if want.Loss {
			roots.Loss = m.Model.Loss(m.Features, targets, want.Auxiliary)
		}
		if want.TokenLosses {
			m.TokenLosses = m.Model.TokenLosses(m.Features, targets) // [tokens]
			roots.Outputs = append(roots.Outputs, m.TokenLosses)
		}
	}
	if want.Logits {
		features := m.Features
		if want.LogitsAt > 0 {
			features = embedding.Gather(b, features, b.Input(inputAt, tensor.Int32, 1, want.LogitsAt), 1) // [at, ...]
		}
		m.Logits = m.Model.Logits(features) // [tokens, vocab]
		roots.Outputs = append(roots.Outputs, m.Logits)
	}
	if want.Logits && want.LogitSum && b.Err() == nil {
		if roots.Loss, err = weightedSum(b, m.Logits); err != nil {
			return roots, err
		}
	}
	if want.Features {
		roots.Outputs = append(roots.Outputs, m.Features)
	} else {
		m.Features = nil
	}
	if want.ExpertCounts {
		m.ExpertCounts = m.Model.ExpertCounts()
		roots.Outputs = append(roots.Outputs, m.ExpertCounts...)
	}
	return roots, m.Model.Err()
}

// weightedSum returns the scalar sum of x times an input of x's shape.
func weightedSum(b *graph.Builder, x *gorgonia.Node) (*gorgonia.Node, error) {
	weighted, err := gorgonia.HadamardProd(x, b.Input(inputWeights, x.Dtype(), x.Shape()...))
	if err != nil {
		return nil, errors.Wrap(err, "models: weighted logits")
	}
	sum, err := gorgonia.Sum(weighted)
	return sum, errors.Wrap(err, "models: weighted logits")
}
