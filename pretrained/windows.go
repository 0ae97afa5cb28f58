package pretrained

import (
	"fmt"

	"github.com/residua-go/residua/layers"
)

// defaultWindow is transformers' default for a config.json without sliding_window.
const defaultWindow = 4096

// windowKey is the table row of sliding_window. It is there only for error messages:
// readLayerWindows and readMistral read the key. Token i sees the tokens j > i -
// sliding_window, as with model.attention.window.
const windowKey = `sliding_window                                attention.window
`

// The names of kinds of layers in layer_types.
const (
	fullLayer    = "full_attention"
	slidingLayer = "sliding_attention"
)

// windowKeys are the keys of a config.json about windows.
type windowKeys struct {
	Layers     int      `json:"num_hidden_layers"`
	UseWindow  bool     `json:"use_sliding_window"`
	Window     *int     `json:"sliding_window"`
	FullLayers int      `json:"max_window_layers"` // layers before those with a window
	LayerTypes []string `json:"layer_types"`
	Pattern    int      `json:"sliding_window_pattern"` // one layer of this number has no window
	OldPattern int      `json:"_sliding_window_pattern"`
}

// readLayerWindows sets the windows of the layers that layer_types lists; without that key, of the
// layers from max_window_layers on, if use_sliding_window is true.
func readLayerWindows(m *Described, text []byte) error {
	return readWindows(m, text, windowKeys{}, func(c windowKeys, l int) bool { return l >= c.FullLayers })
}

// readWindows sets the windows of the layers that layer_types lists; without that key, of those
// that slides names. c has a class's defaults.
func readWindows(m *Described, text []byte, c windowKeys, slides func(c windowKeys, layer int) bool) error {
	window := defaultWindow
	c.Layers, c.Window, c.FullLayers = m.Layers, &window, 28
	if err := unmarshal(text, &c); err != nil {
		return err
	}
	if n := len(c.LayerTypes); n > 0 && n != c.Layers {
		return layers.Setting("layer_types", "want %d, one for each of num_hidden_layers, got %d", c.Layers, n)
	}
	hasWindow := c.UseWindow && c.Window != nil
	var sliding []int
	for l, kind := range c.LayerTypes {
		switch {
		case kind != fullLayer && kind != slidingLayer:
			return layers.Setting(fmt.Sprintf("layer_types[%d]", l), "want %s or %s, got %q", fullLayer, slidingLayer, kind)
		case kind == slidingLayer && !hasWindow:
			return layers.Setting(fmt.Sprintf("layer_types[%d]", l), "want %s without use_sliding_window and sliding_window, got %q", fullLayer, kind)
		case kind == slidingLayer:
			sliding = append(sliding, l)
		}
	}
	if len(c.LayerTypes) == 0 && hasWindow {
		for l := range min(c.Layers, maxWindowLayers) {
			if slides(c, l) {
				sliding = append(sliding, l)
			}
		}
	}
	if len(sliding) == 0 {
		return nil
	}
	if len(sliding) == c.Layers {
		sliding = nil
	}
	m.Attention.Kind = layers.SlidingAttention{Window: *c.Window, Layers: sliding}
	return nil
}

// maxWindowLayers bounds the number of layers in a config.json whose windows are listed; a model
// with more is refused for its size.
const maxWindowLayers = 4096

// layerWindows returns the keys that readLayerWindows reads.
func layerWindows(a layers.SlidingAttention, blocks int) map[string]any {
	kinds, first := layerTypes(a, blocks), blocks
	for l := range kinds {
		if a.Slides(l) {
			first = min(first, l)
		}
	}
	return map[string]any{"use_sliding_window": true, "sliding_window": a.Window, "max_window_layers": first, "layer_types": kinds}
}

// layerTypes returns layer_types of an attention.
func layerTypes(a layers.AttentionDesign, blocks int) []string {
	kinds := make([]string, blocks)
	for l := range kinds {
		kinds[l] = fullLayer
		if s, ok := a.(layers.SlidingAttention); ok && s.Slides(l) {
			kinds[l] = slidingLayer
		}
	}
	return kinds
}
