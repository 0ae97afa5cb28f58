package pretrained

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// configKey is a row of an architecture's table of config.json: the key (name); the field of
// models.Config that it sets (ours), or = if the key must have the value want, or ! if it must
// have that value and is not written; and the reason (why).
type configKey struct{ name, ours, want, why string }

// configKeys parses the table: each line is a row.
func (a Architecture) configKeys() []configKey {
	var keys []configKey
	for line := range strings.Lines(a.Keys) {
		f := append(strings.Fields(line), "")
		keys = append(keys, configKey{f[0], f[1], f[2], strings.Join(f[3:], " ")})
	}
	return keys
}

// Described is a model with the widths of its stream and its feed-forward.
type Described struct {
	models.Config
	Width, Hidden int
	HeadBiases    bool // all maps around attention have biases
}

// fields returns a model's fields by their names in a table.
func (m *Described) fields() map[string]any {
	a := &m.Attention
	return map[string]any{"vocab": &m.Vocab, "seq": &m.Seq, "layers": &m.Layers, "stream.d_model": &m.Width, "feedforward.hidden": &m.Hidden,
		"attention.heads": &a.Heads, "attention.kv_heads": &a.KVHeads, "attention.head_dim": &a.HeadDim, "attention.inverse_layer_scaling": &a.InverseLayerScaling,
		"norm_eps": &m.NormEps, "gelu": &m.Gelu, "tie_embeddings": &m.TieEmbeddings,
		"attention.bias": &m.HeadBiases, "feedforward_bias": &m.FFBias, "parallel": &m.Parallel, "attention.scale": &a.Scale, "attention.softcap": &a.Softcap,
		"embedding_scale": &m.EmbeddingScale, "residual_scale": &m.ResidualScale, "logit_scale": &m.LogitScale, "logit_softcap": &m.LogitSoftcap}
}

// model reads a config.json. Missing keys have transformers' defaults.
func (a Architecture) model(text []byte) (models.Config, error) {
	var m Described
	var given map[string]json.RawMessage
	for _, object := range []string{cmp.Or(a.Defaults, "{}"), string(text)} {
		if err := unmarshal([]byte(object), &given); err != nil {
			return m.Config, err
		}
	}
	fields := m.fields()
	for _, k := range a.configKeys() {
		value, field := given[k.name], fields[k.ours]
		var wrong *json.UnmarshalTypeError
		switch {
		case len(value) == 0 || string(value) == "null":
		case field == nil && k.want != "" && k.want != string(value):
			return m.Config, layers.Setting(k.name, "want %s, got %s: %s", strings.Trim(k.want, `"`), value, k.why)
		case field == nil:
		case errors.As(json.Unmarshal(value, field), &wrong):
			return m.Config, layers.Setting(k.name, "want %s, got %s", wrong.Type, wrong.Value)
		case string(value) != "false" && reflect.ValueOf(field).Elem().IsZero(): // it would mean our default
			return m.Config, layers.Setting(k.name, "want above 0, got %s", value)
		}
	}
	if m.HeadBiases {
		m.Attention.Bias = stream.HeadBiasesAll
	}
	err := a.Read(&m, text)
	return m.Config, err
}

// config returns a model's config.json without the keys that every architecture has.
func (a Architecture) config(spec models.Spec) map[string]any {
	m := Described{Config: spec.Config, Width: spec.Width(), Hidden: spec.FeedForwardShape().Hidden, HeadBiases: spec.Attention.Bias == stream.HeadBiasesAll}
	m.Attention.Heads, m.Attention.KVHeads, m.Attention.HeadDim = spec.HeadCount(), spec.KVHeads(), spec.HeadDim()
	config, fields := map[string]any{}, m.fields()
	for _, k := range a.configKeys() {
		if field := fields[k.ours]; field != nil {
			config[k.name] = field
		} else if k.ours == "=" {
			config[k.name] = json.RawMessage(k.want)
		}
	}
	maps.Copy(config, a.Write(spec))
	return config
}
