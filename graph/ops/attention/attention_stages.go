package attention

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// attentionStage computes one stage of an attention. Inputs: qkv or, of the softmax, scores; and,
// if masked, starts.
type attentionStage struct {
	attention
	stage kernel.AttentionStage
}

// Rotate rotates queries and keys as Causal does before it multiplies them (Su et al. 2021,
// RoFormer, eq. 15): qkv [T, (H+2*KV)*Dh], and so is the result, which Causal, Pattern and Scores
// then read with a RopeBase of 0. It and the other stages run on the CPU only, for code that looks
// at the inside of attention.
func Rotate(b *graph.Builder, qkv *gorgonia.Node, o Options) *gorgonia.Node {
	return o.stage(b, kernel.StageRotate, qkv)
}

// Scores computes what Pattern takes the softmax of: Scale q_i.k_j - Slopes (i-j), and -Inf where a
// query sees no key. qkv as in Causal; scores [T, H, Seq].
func Scores(b *graph.Builder, qkv *gorgonia.Node, o Options) *gorgonia.Node {
	return o.stage(b, kernel.StageScores, qkv)
}

// Softmax turns Scores into Pattern. Scores of keys that a query does not see count as -Inf.
func Softmax(b *graph.Builder, scores *gorgonia.Node, o Options) *gorgonia.Node {
	return o.stage(b, kernel.StageSoftmax, scores)
}

func (o Options) stage(b *graph.Builder, stage kernel.AttentionStage, x *gorgonia.Node) *gorgonia.Node {
	if b.Err() != nil || refuseCache(b, "AttentionStage") {
		return nil
	}
	rotary := o
	if stage == kernel.StageSoftmax {
		rotary.RopeBase = 0
	}
	k := attentionStage{rotary.primitive(b, x), stage}
	if o.Starts != nil {
		return b.Apply(k, x, o.Starts)
	}
	return b.Apply(k, x)
}

func (k attentionStage) String() string {
	return fmt.Sprintf("%s of %s", [...]string{"Rotate", "Scores", "Softmax"}[k.stage], k.attention)
}

// CPUOnly returns true.
func (attentionStage) CPUOnly() bool { return true }

func (k attentionStage) FLOPs(c graph.Cost) int {
	if k.stage != kernel.StageScores {
		return 0
	}
	return k.halfFLOPs(c.Signature(0))
}

func (k attentionStage) Infer(in []graph.Signature) (graph.Signature, error) {
	shape := graph.WithTokens(in[0].Leading(), k.heads, k.seq)
	if k.stage == kernel.StageSoftmax {
		if !in[0].Shape.Eq(shape) {
			return graph.Signature{}, errors.Errorf("scores: want [tokens, heads, seq] = %v, got %v", shape, in[0].Shape)
		}
		return in[0], nil
	}
	if _, err := k.attention.Infer(in); err != nil || k.stage == kernel.StageRotate {
		return in[0], err
	}
	return graph.Signature{DType: in[0].DType, Shape: shape}, nil
}

func (k attentionStage) VJP(d *graph.Derivative) {
	children := gorgonia.Nodes{d.Input(0), d.Output(), d.Gradient()}
	if k.masked {
		children = append(children, d.Input(1))
	}
	d.Make(0, attentionStageGrad{of: k}, children...)
}

func (k attentionStage) Run(c *graph.Call) { graph.Dispatch(c, k, runStage, runStage) }

func runStage[T kernel.Float](k attentionStage, c graph.CallOf[T]) {
	run := graph.State[kernel.AttentionStages[T]](c)
	run.Rope = tableOf[T](k.rope)
	run.Forward(c.Pool(), k.stage, c.Out(), c.In(0), c.Ints(1), k.params(c.Signature(0)))
}

// attentionStageGrad computes the gradient of a stage's first input. Inputs: the stage's first
// input, its result, the gradient of its result, and starts if masked.
type attentionStageGrad struct {
	graph.NoGradient
	of attentionStage
}

func (k attentionStageGrad) String() string { return "Grad of " + k.of.String() }

func (k attentionStageGrad) FLOPs(c graph.Cost) int { return 2 * k.of.FLOPs(c) }

func (k attentionStageGrad) Run(c *graph.Call) { graph.Dispatch(c, k, runStageGrad, runStageGrad) }

func runStageGrad[T kernel.Float](k attentionStageGrad, c graph.CallOf[T]) {
	run := graph.State[kernel.AttentionStages[T]](c)
	run.Rope = tableOf[T](k.of.rope)
	run.Backward(c.Pool(), k.of.stage, c.Out(), c.In(0), c.In(1), c.In(2), c.Ints(3), k.of.params(c.Signature(0)))
}
