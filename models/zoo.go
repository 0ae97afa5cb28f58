package models

import (
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream"
)

// Zoo is a list of designs and presets, from which configs, commands and tests learn what
// there is. It is a value: Standard is ours, With makes another.
type Zoo struct {
	streams      []stream.Design
	feedForwards []layers.FeedForwardDesign
	presets      []Preset
}

// Standard returns the zoo of this module: its residual streams and feed-forwards in reading
// order, without settings, and its presets. A new one adds its line here.
func Standard() Zoo {
	return Zoo{
		streams: []stream.Design{
			stream.MatrixConfig{},
			stream.VectorConfig{},
			stream.HyperConfig{},
			stream.MHCConfig{},
			stream.MHCLiteConfig{},
			stream.VWNConfig{},
			stream.HighwayConfig{},
			stream.HieraggConfig{},
			stream.DWLSTMConfig{},
		},
		feedForwards: []layers.FeedForwardDesign{
			layers.GELUConfig{},
			layers.MoEConfig{},
		},
		presets: presets(),
	}
}

// With returns the zoo with one more stream design, without settings, and presets of it.
func (z Zoo) With(d stream.Design, presets ...Preset) Zoo {
	z.streams = append(slices.Clip(z.streams), d)
	z.presets = append(slices.Clip(z.presets), presets...)
	return z
}

// WithFeedForward returns the zoo with one more feed-forward design, without settings.
func (z Zoo) WithFeedForward(d layers.FeedForwardDesign) Zoo {
	z.feedForwards = append(slices.Clip(z.feedForwards), d)
	return z
}

// Streams are the designs of streams.
func (z Zoo) Streams() []stream.Design { return slices.Clone(z.streams) }

// FeedForwards are the designs of feed-forwards.
func (z Zoo) FeedForwards() []layers.FeedForwardDesign { return slices.Clone(z.feedForwards) }

// Presets are the known models.
func (z Zoo) Presets() []Preset { return slices.Clone(z.presets) }

// Stream returns the design of that name, without settings.
func (z Zoo) Stream(name string) (stream.Design, error) { return find("stream", z.streams, name) }

// FeedForward returns the design of that name, without settings.
func (z Zoo) FeedForward(name string) (layers.FeedForwardDesign, error) {
	return find("feed-forward", z.feedForwards, name)
}

// find is the design of a name.
func find[D kinded](what string, designs []D, name string) (D, error) {
	for _, d := range designs {
		if d.Name() == name {
			return d, nil
		}
	}
	var none D
	return none, errors.Errorf("unknown %s %q: want one of %s", what, name, strings.Join(namesOf(designs), ", "))
}

// Preset returns the preset of that name.
func (z Zoo) Preset(name string) (Preset, error) {
	for _, p := range z.presets {
		if p.Name == name {
			return p, nil
		}
	}
	return Preset{}, errors.Errorf("models: unknown preset %q: go run ./cmd/models lists them", name)
}

// StreamNames are the names of the streams, in order.
func (z Zoo) StreamNames() []string { return namesOf(z.streams) }

func namesOf[D kinded](designs []D) []string {
	var names []string
	for _, d := range designs {
		names = append(names, d.Name())
	}
	return names
}
