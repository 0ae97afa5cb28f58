package models_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/designrows"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// sizes holds what the config of a reference says of any stream, as plain keys; absent ones are
// off.
type sizes struct {
	Vocab, Seq, Batch, Layers, D, Heads, FF int
	Dk, Dv, Rank                            int // of matrix streams
	Experts                                 int
	TopK                                    int `json:"top_k"`
	Balance                                 float64
	Begin                                   int `json:"loop_begin"`
	End                                     int `json:"loop_end"`
	Loops                                   int
	Inverse                                 bool `json:"inverse_layer_scaling"`
	LayerScale, X0, Smear, Backout          bool
	EmbeddingNorm                           bool `json:"embedding_norm"`
	SmearChannels                           int  `json:"smear_channels"`
	ValueEmbeddings                         bool `json:"value_embeddings"`
	ValueGateChannels                       int  `json:"value_gate_channels"`
	Eps                                     float64
	Gelu, Norm, FeedForward                 string
	ZLoss                                   float64 `json:"z_loss"`
	MaskDocuments                           bool    `json:"mask_documents"`
	BOS                                     int
	Conv                                    int    // taps of the filters of what is written
	ConvWrites                              string `json:"conv_writes"`
	ConvKeys                                bool   `json:"conv_keys"`
	ConvValues                              bool   `json:"conv_values"`
	attentionSizes
}

// config returns the model on a vector stream or, with keys, on a matrix stream.
func (c sizes) config() models.Config {
	var of stream.Design = stream.MatrixConfig{Dk: c.Dk, Dv: c.Dv, Rank: c.Rank}
	if c.Dk == 0 {
		of = c.vector()
	}
	return models.Config{Stream: of, Attention: c.attention(), TieEmbeddings: c.Tied, LogitSoftcap: c.Softcap, Layers: c.Layers,
		LoopBegin: c.Begin, LoopEnd: c.End, Loops: c.Loops,
		FeedForward: c.feedForward(), Vocab: c.Vocab, Seq: c.Seq, NormEps: c.Eps, Norm: normName(c.Norm), Gelu: c.Gelu,
		MaskDocuments: c.MaskDocuments, BOS: c.BOS, Writes: c.writes()}
}

// writes returns what is convolved, nil for nothing.
func (c sizes) writes() stream.WritesDesign {
	var at []string
	switch c.ConvWrites {
	case "both":
		at = []string{"attention", "feedforward"}
	case "attention", "feedforward":
		at = []string{c.ConvWrites}
	}
	for name, on := range map[string]bool{"keys": c.ConvKeys, "values": c.ConvValues} {
		if on {
			at = append(at, name)
		}
	}
	if c.Conv == 0 || at == nil {
		return nil
	}
	slices.Sort(at)
	return stream.ConvWrites{Taps: c.Conv, At: at}
}

// vector returns the stream.
func (c sizes) vector() stream.VectorConfig {
	v := vectorOf(c.D)
	if v.LayerScale = c.LayerScale; c.X0 {
		v.X0 = "neutral"
	}
	if v.EmbeddingNorm, v.Backout = c.EmbeddingNorm, c.Backout; c.Smear {
		v.Smear = c.SmearChannels
	}
	return v
}

// feedForward returns the feed-forward that the reference names, or a GELU if it names none.
func (c sizes) feedForward() layers.FeedForwardDesign {
	switch {
	case c.FeedForward == "swiglu":
		return layers.SwiGLUConfig{Hidden: c.FF}
	case c.FeedForward == "relu":
		return layers.ReLUConfig{Hidden: c.FF}
	case c.FeedForward == "relu2":
		return layers.ReLU2Config{Hidden: c.FF}
	case c.FeedForward == "none":
		return layers.NoFeedForward{}
	case c.Experts > 0:
		return layers.MoEConfig{Hidden: c.FF, Experts: c.Experts, TopK: c.TopK}
	}
	return gelu(c.FF)
}

// site returns the prefix of a site's tensors.
func site(layer int, kind string) string { return fmt.Sprintf("blocks.%d.%s.", layer, kind) }

// sites calls f with the prefix of every site, two for each block.
func sites(layers int, f func(prefix string)) {
	for l := range layers {
		f(site(l, "attention"))
		f(site(l, "feedforward"))
	}
}

// replace replaces the links that have the same names as the given ones.
func (r *reference) replace(links ...link) {
	for _, l := range links {
		r.weights = slices.DeleteFunc(r.weights, func(other link) bool { return other.theirs == l.theirs })
	}
	r.weights = append(r.weights, links...)
}

// readers returns the functions that read references, by kind. readDesign reads the other kinds,
// which are names of designs.
func readers() map[string]func(*testing.T, *reference) {
	return map[string]func(*testing.T, *reference){
		"rmt": readRMT, readsDynamicRMT: readDynamicRMT, "transformer": readVectors, "moe": readVectors, "muon": readVectors,
		"official-rmt": readOfficialRMT, "official-transformer": readOfficialTransformer,
		"value-residual": readVectors, "x0": readVectors, "layerscale": readVectors, "modern": readVectors, "looped": readVectors,
		"conv": readVectors, "value-embeddings": readVectors, "smear-backout": readVectors,
	}
}

// readVectors reads the paper form of the transformer, with its options.
func readVectors(t *testing.T, r *reference) { r.readWith(t, "", referenceRows{}) }

// readDesign reads a reference of a design by the rows in the design's file.
func readDesign(t *testing.T, r *reference) {
	r.readWith(t, r.expected.Kind, designrows.Read[referenceRows](t, "reference")[r.expected.Kind])
}

// referenceRows say how a design's references are read. A setting of the design needs no row if the
// reference's config has it under the same key, and a tensor needs none if its name and size are
// the same.
type referenceRows struct {
	Settings map[string]string // their key, by ours
	Absent   map[string]any    // our settings where their config has no such key
	Same     map[string]any    // keys of theirs that can only have this value
	Tensors  map[string]tensorRow
}

// tensorRow says where their tensor is in ours. Its key is the name of theirs; a leading "*."
// stands for the prefix of a site or block, which ours has, too. Names in formulas are numbers of
// their config, and s0, s1, … the shape of their tensor. The row applies if it has as many strides
// as their tensor has axes, and ours exists.
type tensorRow struct {
	Ours    string
	At      formula
	Split   []formula
	Strides []formula
}

// readWith reads the config of a reference on a stream of vectors, and links its tensors.
func (r *reference) readWith(t *testing.T, design string, rows referenceRows) {
	var given map[string]any
	require.NoError(t, json.Unmarshal(r.expected.Config, &given))
	var settings designrows.Model
	var own []string
	if design != "" {
		settings, own = r.settings(t, design, rows, given)
	}
	c := r.sizes(t, own...)
	if design != "" {
		r.config = settings.On(t, design, r.config)
	}
	numbers := map[string]int{}
	for key, value := range given {
		if n, ok := value.(float64); ok {
			numbers[key] = int(n)
		}
	}
	store := modeltest.NewStore(t, modeltest.Resolve(t, r.config), tensor.Float32, 0)
	for name, theirs := range readTensors(t, r.dir, "weights.safetensors").byName {
		r.weights = append(r.weights, rows.link(t, c, store, name, theirs.Shape, numbers))
	}
}

// sizes reads the config and sets the model. own lists the keys that the reader of the kind uses
// itself; it fails if the config has any other key that sizes lacks.
func (r *reference) sizes(t *testing.T, own ...string) (c sizes) {
	r.decode(t, &c, own...)
	r.config, r.auxiliary, r.rows = c.config(), models.Auxiliary{ZLoss: c.ZLoss, BalanceLoss: c.Balance}, c.Batch
	return c
}

// decode reads the config into a struct. It fails if a key is neither in the struct nor in own.
func (r *reference) decode(t *testing.T, c any, own ...string) {
	require.NoError(t, decodeKeys(r.expected.Config, c, own...), "%s: a key of the config that the reader does not use", r.dir)
}

// decodeKeys reads JSON into a struct; a key that is neither in the struct nor in own is an error.
func decodeKeys(text []byte, c any, own ...string) error {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(text, &given); err != nil {
		return err
	}
	for _, key := range own {
		delete(given, key)
	}
	rest, err := json.Marshal(given)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(rest))
	decoder.DisallowUnknownFields()
	return decoder.Decode(c)
}

// TestReferenceKeys: no key of a reference's config is dropped silently.
func TestReferenceKeys(t *testing.T) {
	var c sizes
	require.NoError(t, decodeKeys([]byte(`{"vocab": 31, "n": 4, "mask_documents": true, "bos": 3}`), &c, "n"))
	require.Equal(t, sizes{Vocab: 31, MaskDocuments: true, BOS: 3}, c)
	require.True(t, c.config().MaskDocuments)
	require.Equal(t, 3, c.config().BOS)
	require.ErrorContains(t, decodeKeys([]byte(`{"vocab": 31, "m": 4}`), &c, "n"), `"m"`)
}

// settings returns the settings of the design's stream, under our keys, and their keys.
func (r *reference) settings(t *testing.T, design string, rows referenceRows, given map[string]any) (m designrows.Model, theirs []string) {
	d, err := models.Standard().Stream(design)
	require.NoError(t, err)
	settings := map[string]any{}
	for key, value := range rows.Absent {
		settings[key] = value
	}
	for key, want := range rows.Same {
		if got := given[key]; got != nil {
			require.Equal(t, want, got, "%s: %s of kind %s", r.dir, key, design)
		}
		theirs = append(theirs, key)
	}
	for _, key := range settingsIn(d) {
		if key == "" {
			continue
		}
		their := cmp.Or(rows.Settings[key], key)
		if value := given[their]; value != nil {
			settings[key] = value
		}
		theirs = append(theirs, their)
	}
	return designrows.Model{"stream": settings}, theirs
}

// link says where a tensor of theirs is in ours.
func (rows referenceRows) link(t *testing.T, c sizes, store *graph.Store, name string, shape []int, numbers map[string]int) link {
	numbers = maps.Clone(numbers)
	for axis, size := range shape {
		numbers[fmt.Sprintf("s%d", axis)] = size
	}
	for key, row := range rows.Tensors {
		prefix, ok := prefixOf(name, key)
		axes := cmp.Or(len(row.Split), len(shape))
		if !ok || len(row.Strides) != axes || store.Param(prefix+row.Ours) == nil {
			continue
		}
		l := link{theirs: name, ours: prefix + row.Ours}
		if row.At != "" {
			l.base = int(row.At.at(t, numbers))
		}
		for _, f := range row.Split {
			l.split = append(l.split, int(f.at(t, numbers)))
		}
		for _, f := range row.Strides {
			l.strides = append(l.strides, int(f.at(t, numbers)))
		}
		return l
	}
	if l, ok := c.packed(name); ok {
		return l
	}
	if l, ok := c.filter(name, shape); ok {
		return l
	}
	l, size := link{theirs: name, ours: name, strides: make([]int, len(shape))}, 1
	for axis := len(shape) - 1; axis >= 0; axis-- {
		l.strides[axis] = size
		size *= shape[axis]
	}
	require.NotNil(t, store.Param(name), "%s: want a row for it in reference, in the design's file", name)
	require.Equal(t, store.Param(name).Size(), size, "%s: want a row for it in reference, in the design's file", name)
	return l
}

// prefixOf returns the part of a name that the "*." of a key stands for.
func prefixOf(name, key string) (string, bool) {
	suffix, anywhere := strings.CutPrefix(key, "*.")
	prefix, ok := strings.CutSuffix(name, suffix)
	return prefix, ok && (prefix == "" && !anywhere || strings.HasSuffix(prefix, ".") && anywhere)
}

// filter links a filter of what is written, [entries, taps] in theirs and [taps, entries] in ours.
func (c sizes) filter(name string, shape []int) (link, bool) {
	_, part, _ := cutLast(name)
	is := c.Conv > 0 && slices.Contains([]string{"conv", "k_conv", "v_conv"}, part)
	if !is {
		return link{}, false
	}
	return link{theirs: name, ours: name, strides: []int{1, shape[0]}}, true
}

// packed links queries, keys and values, which lie side by side in ours, and experts, which lie one
// after the other.
func (c sizes) packed(name string) (link, bool) {
	prefix, part, _ := cutLast(name)
	head := cmp.Or(c.HeadDim, c.D/max(1, c.Heads))
	heads, kv := c.Heads*head, cmp.Or(c.KVHeads, c.Heads)*head
	if i := slices.Index([]string{"q", "k", "v"}, part); i >= 0 {
		return link{theirs: name, ours: prefix + "qkv", base: min(i, 1)*heads + max(0, i-1)*kv, strides: []int{heads + 2*kv, 1}}, true
	}
	var expert int
	if site, number, ok := cutLast(strings.TrimSuffix(prefix, ".")); ok && c.Experts > 0 {
		if _, err := fmt.Sscan(number, &expert); err == nil {
			width := map[string]int{"w1": c.FF, "w2": c.D}[part]
			return link{theirs: name, ours: site + part, base: expert * c.D * c.FF, strides: []int{width, 1}}, width > 0
		}
	}
	return link{}, false
}

// cutLast splits a name at its last dot.
func cutLast(name string) (prefix, last string, ok bool) {
	i := strings.LastIndexByte(name, '.')
	return name[:i+1], name[i+1:], i >= 0
}
