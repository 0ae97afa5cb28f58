package models

import (
	"fmt"
	"math"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph"
)

// TrainingMemory is what training the model with AdamW takes of the CPU's memory at least, in
// a step of batch rows: in closed form, so that a model of any size can be asked about. The
// exact need, which graph.PredictMemory tells of a graph, is a little more.
func (c Config) TrainingMemory(batch int, recompute graph.Recompute) graph.MemoryNeed {
	c = c.Resolve()
	cost, tokens := c.Cost(), float64(batch)*float64(c.Seq)
	parameters := float32Bytes * float64(cost.Parameters)
	activations := tokens * float64(cost.ActivationBytes)
	if recompute == graph.RecomputeBlock { // the stream between blocks, and one block
		activations = min(activations, activations/float64(c.Layers)+tokens*float32Bytes*float64(cost.StreamSize)*float64(c.Layers))
	}
	return graph.MemoryNeed{Parameters: bounded(parameters), Gradients: bounded(parameters), Moments: bounded(2 * parameters), Activations: bounded(activations)}
}

// bounded is whole, with room to be added to others.
func bounded(n float64) int { return min(whole(n), math.MaxInt/8) }

// checkParameters refuses to initialise parameters that the memory has no room for. Those of
// a Store that plans, serves or has them already take none.
func (c Config) checkParameters(s *graph.Store) error {
	if !s.Initialises() || s.Size() > 0 {
		return nil
	}
	need := graph.MemoryNeed{Parameters: bounded(float64(c.Cost().Parameters) * float64(s.DType().Size()))}
	available := graph.AvailableMemory()
	fits := func(c Config) bool { return float32Bytes*float64(c.Cost().Parameters) <= float64(available) }
	return need.Within(available, c.Smaller("model.", fits).String())
}

// Change is a smaller value of one field of a config.
type Change struct {
	Field string
	Value any
}

// Changes are alternatives: each alone does.
type Changes []Change

// String is advice: "model.layers=6 or model.ff=512 would fit".
func (all Changes) String() string {
	if len(all) == 0 {
		return "no single size makes it fit: start from a preset (go run ./cmd/models lists them)"
	}
	var words []string
	for _, change := range all {
		words = append(words, fmt.Sprintf("%s=%v", change.Field, change.Value))
	}
	return strings.Join(words, " or ") + " would fit"
}

// Smaller returns the sizes of which one alone, halved as often as it takes, makes a config
// that is valid and fits; those that change least first, at most three.
func (c Config) Smaller(prefix string, fits func(Config) bool) Changes {
	c = c.Resolve()
	var found Changes
	for halvings := 1; halvings < 63 && len(found) < 3; halvings++ {
		for _, field := range c.shrinkable() {
			smaller, size := c, 0
			if size = *field.of(&smaller) >> halvings; size < 1 || found.has(prefix+field.name) {
				continue
			}
			*field.of(&smaller) = size
			if smaller.Validate() == nil && fits(smaller) {
				found = append(found, Change{prefix + field.name, size})
			}
		}
	}
	return found[:min(len(found), 3)]
}

func (all Changes) has(field string) bool {
	for _, change := range all {
		if change.Field == field {
			return true
		}
	}
	return false
}

// shrinkableField is a size that a model's memory grows with.
type shrinkableField struct {
	name string
	of   func(*Config) *int
}

func (c Config) shrinkable() []shrinkableField {
	return []shrinkableField{
		{"seq", func(c *Config) *int { return &c.Seq }},
		{"layers", func(c *Config) *int { return &c.Layers }},
		{"ff", func(c *Config) *int { return &c.FF }},
		{"d_model", func(c *Config) *int { return &c.DModel }},
		{"dk", func(c *Config) *int { return &c.Dk }},
		{"dv", func(c *Config) *int { return &c.Dv }},
		{"rank", func(c *Config) *int { return &c.Rank }},
		{"experts", func(c *Config) *int { return &c.Experts }},
		{"n", func(c *Config) *int { return &c.N }},
		{"inner", func(c *Config) *int { return &c.Inner }},
	}
}

// CheckCount refuses a file whose tensors have not as many entries as the model has
// parameters: in closed form, before a graph of its size is built.
func (c Config) CheckCount(entries int) error {
	if n := c.Cost().Parameters; n != entries {
		return errors.Errorf("want %d parameters for the model that the file describes, got tensors of %d entries: it was damaged or edited", n, entries)
	}
	return nil
}
