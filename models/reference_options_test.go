package models_test

import (
	"fmt"

	"github.com/residua-go/residua/stream"
)

// optionSizes are the fields of a folder's config that are options of a vector stream: plain keys,
// those that are absent are off.
type optionSizes struct {
	LayerScale bool
	X0         bool
}

// vector is the stream.
func (c vectorSizes) vector() stream.VectorConfig {
	v := vectorOf(c.D)
	if v.LayerScale = c.LayerScale; c.X0 {
		v.X0 = "neutral"
	}
	return v
}

// optionLinks are the options' parameters in block l.
func (c vectorSizes) optionLinks(l int) (links []link) {
	if c.LayerScale {
		links = append(links, same(site(l, "attention")+"scale", 1), same(site(l, "feedforward")+"scale", 1))
	}
	if c.X0 {
		links = append(links, same(fmt.Sprintf("blocks.%d.x0", l), 1))
	}
	return links
}
