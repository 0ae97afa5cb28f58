package models

import (
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/residua-go/residua/graph"
)

// TrainingMemory returns a lower bound of the CPU memory that training the model with AdamW takes
// in a step of batch rows. It is a closed form, so that it works for a model of any size. The exact
// need, which graph.PredictMemory computes from a graph, is a little larger.
func (spec Spec) TrainingMemory(batch int, recompute graph.Recompute) graph.MemoryNeed {
	cost, tokens := spec.Cost(), float64(batch)*float64(spec.Seq)
	parameters := float32Bytes * float64(cost.Parameters)
	activations := tokens * float64(cost.ActivationBytes)
	if recompute != graph.RecomputeNone && recompute != "" { // at least what flows between blocks, and one block
		kept, block := tokens*float32Bytes*float64(max(cost.StreamSize, spec.Shape().Kept)), activations/float64(spec.Depth())
		first := block + kept*float64(spec.LoopEnd) + spec.passGradients() // the backward pass of a loop's first pass begins
		activations = min(activations, max(block+kept*float64(spec.Depth()), first))
	}
	return graph.MemoryNeed{Parameters: bounded(parameters), Gradients: bounded(parameters), Moments: bounded(2 * parameters), Activations: bounded(activations)}
}

// passGradients returns how many bytes of parameter gradients the later passes of a loop have made
// by the time the backward pass of its first pass begins.
func (spec Spec) passGradients() float64 {
	blocks := 0
	for l := range spec.Layers {
		if spec.loop().Repeats(l) {
			blocks++
		}
	}
	parameters := 0.0
	for _, sublayer := range spec.shape.Sublayers {
		parameters += spec.blocksCost(sublayer).Parameters
	}
	return float32Bytes * parameters * float64(blocks) / float64(spec.Layers)
}

// bounded is like whole, but returns at most an eighth of the largest int, so that several results
// can be added.
func bounded(n float64) int { return min(whole(n), math.MaxInt/8) }

// checkParameters returns an error if memory has no room for initialising the parameters. It does
// not count parameters for a Store that plans, serves or already has them.
func (spec Spec) checkParameters(s *graph.Store) error {
	if !s.Initialises() || s.Size() > 0 {
		return nil
	}
	need := graph.MemoryNeed{Parameters: bounded(float64(spec.Cost().Parameters) * float64(s.DType().Size()))}
	available := graph.AvailableMemory()
	fits := func(spec Spec) bool { return float32Bytes*float64(spec.Cost().Parameters) <= float64(available) }
	return need.Within(available, spec.Smaller("model.", fits).String())
}

// Change is a smaller value of one field of a config.
type Change struct {
	Field string
	Value any
}

// Changes are alternatives: each of them alone is enough.
type Changes []Change

// String returns advice: "model.layers=6 or model.feedforward.hidden=512 would fit".
func (all Changes) String() string {
	if len(all) == 0 {
		return "no single size makes it fit: start from a preset (the command models lists them)"
	}
	var words []string
	for _, change := range all {
		words = append(words, fmt.Sprintf("%s=%v", change.Field, change.Value))
	}
	return strings.Join(words, " or ") + " would fit"
}

// Smaller returns up to three sizes, each of which alone, halved as often as needed, makes the
// model fit. The smallest change comes first.
func (c Config) Smaller(prefix string, fits func(Spec) bool) Changes {
	var found Changes
	for halvings := 1; halvings < 63 && len(found) < 3; halvings++ {
		for _, size := range c.sizes() {
			half := size.Value.(int) >> halvings
			if half < 1 || found.has(prefix+size.Field) {
				continue
			}
			smaller, err := c.WithSize(size.Field, half)
			if err != nil {
				continue
			}
			if spec, err := smaller.Resolve(); err == nil && fits(spec) {
				found = append(found, Change{prefix + size.Field, half})
			}
		}
	}
	return found[:min(len(found), 3)]
}

// sizes lists the sizes that a model's memory may grow with.
func (c Config) sizes() Changes {
	c = c.WithDefaults()
	all := Changes{{"seq", c.Seq}, {"layers", c.Layers}, {"loops", c.Loops}}
	for _, part := range []struct {
		prefix string
		design any
	}{{"feedforward.", c.FeedForward}, {"stream.", c.Stream}} {
		if part.design == nil {
			continue
		}
		v := reflect.ValueOf(part.design)
		for _, s := range settingsOf(v.Type()) {
			if size, ok := v.FieldByIndex(s.Index).Interface().(int); ok {
				all = append(all, Change{part.prefix + s.Key, size})
			}
		}
	}
	return all
}

func (all Changes) has(field string) bool {
	for _, change := range all {
		if change.Field == field {
			return true
		}
	}
	return false
}
