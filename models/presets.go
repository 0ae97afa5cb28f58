package models

import (
	"math"
	"reflect"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream"
)

// Preset is a named model with the parameter count that its source prints.
type Preset struct {
	Name   string
	Config Config
	// Paper is the number of parameters in millions as the RMT paper prints it, rounded to whole
	// millions or, if it ends in 0, to tens of millions; 0 if the paper prints none. More exact
	// numbers are computed. PaperNote says what the paper's own count leaves out.
	Paper     float64
	PaperNote string
	// Baseline is the preset of the transformer of the same shape, which bench and the cards in
	// docs/models.md compare it with, if there is one.
	Baseline string
	// Modern says that the model has the blocks of Llama and Qwen3; its card says so, too. If the
	// model's stream is also its baseline's stream, cards compare other models with it as a second
	// baseline.
	Modern bool
	// Card describes the model if its stream's card does not, nor the card of its writes, attention
	// or feed-forward; otherwise it is nil.
	Card *layers.Card
}

// RoundsToPaper tells whether a number of parameters, rounded as the paper rounds, is the printed
// number.
func (p Preset) RoundsToPaper(parameters int) bool {
	unit := 1e6
	if math.Mod(p.Paper, 10) == 0 {
		unit = 1e7
	}
	return math.Round(float64(parameters)/unit)*unit == 1e6*p.Paper
}

// OnStream returns the model on another stream. Settings of d that are zero are taken from the
// model's stream if that has them, such as d_model. The feed-forward is removed for a stream whose
// blocks have none. Resolve returns an error for settings that are not valid.
func (c Config) OnStream(d stream.Design) Config {
	if !isDesign(d) || !isDesign(c.Stream) {
		c.Stream = d
		return c
	}
	from := reflect.ValueOf(c.Stream)
	settings := settingsOf(from.Type())
	c.Stream = withChanges(d, func(v reflect.Value) {
		for _, s := range settingsOf(v.Type()) {
			for _, own := range settings {
				if s.Key == own.Key && v.FieldByIndex(s.Index).IsZero() {
					v.FieldByIndex(s.Index).Set(from.FieldByIndex(own.Index))
				}
			}
		}
	})
	if !c.Stream.Shape().Has(stream.FeedForward) {
		c.FeedForward = nil
	}
	return c
}
