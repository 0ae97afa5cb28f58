package models

import (
	"encoding/json"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/settings"
)

// Versions of a model's JSON, which are the versions of the files that contain it.
const (
	version1 = 1 // all keys side by side
	version2 = 2 // sections
)

// version1Keys says what the keys of version 1 are called now, for those that have moved. ""
// stands for a key that a model does not have any more, because it belongs to training.
func version1Keys() map[string]string {
	return map[string]string{
		"stream":  "stream.kind",
		"d_model": "stream.d_model", "dk": "stream.dk", "dv": "stream.dv", "rank": "stream.rank",
		"n": "stream.n", "m": "stream.m", "dynamic": "stream.dynamic", "sinkhorn_iterations": "stream.sinkhorn_iterations",
		"expand_embedding": "stream.expand_embedding", "inner": "stream.inner", "separate_aggregates": "stream.separate_aggregates",
		"heads": "attention.heads", "head_dim": "attention.head_dim", "positions": "attention.positions",
		"rope_base": "attention.rope_base", "inverse_layer_scaling": "attention.inverse_layer_scaling",
		"ff": "feedforward.hidden", "experts": "feedforward.experts", "top_k": "feedforward.top_k",
		"mup.base_d_model": "mup.base.stream.d_model", "mup.base_dk": "mup.base.stream.dk", "mup.base_dv": "mup.base.stream.dv",
		"mup.base_rank": "mup.base.stream.rank", "mup.base_heads": "mup.base.attention.heads",
		"mup.base_head_dim": "mup.base.attention.head_dim", "mup.base_ff": "mup.base.feedforward.hidden",
		"z_loss": "", "balance_loss": "", "router_z_loss": "",
	}
}

// UnmarshalVersion reads the config of a model that was saved in a format version, of designs
// in the zoo.
func (z Zoo) UnmarshalVersion(version int, text []byte) (Config, error) {
	switch version {
	case version1:
		translated, err := fromVersion1(text)
		if err != nil {
			return Config{}, errors.Wrap(err, "models: config of format version 1")
		}
		return z.Unmarshal(translated)
	case version2:
		return z.Unmarshal(text)
	}
	return Config{}, errors.Errorf("models: config: want format version %d or %d, got %d", version1, version2, version)
}

// fromVersion1 translates the JSON of version 1. A key with a zero value was not set there.
func fromVersion1(text []byte) ([]byte, error) {
	var old map[string]json.RawMessage
	if err := json.Unmarshal(text, &old); err != nil {
		return nil, errors.WithStack(err)
	}
	now, keys := map[string]any{}, version1Keys()
	var mup map[string]json.RawMessage
	if err := json.Unmarshal(orNull(old["mup"]), &mup); err != nil {
		return nil, errors.Wrap(err, "mup")
	}
	delete(old, "mup")
	if mup != nil {
		setPath(now, "mup.base", map[string]any{})
	}
	for key, value := range mup {
		old["mup."+key] = value
	}
	for key, value := range old {
		to, moved := keys[key]
		if !moved {
			to = key
		}
		if to != "" && !isZeroJSON(value) {
			setPath(now, to, value)
		}
	}
	addKind(now)
	return json.Marshal(now)
}

// addKind adds the feed-forward's kind, which version 1 did not name.
func addKind(now map[string]any) {
	if feedforward, ok := now["feedforward"].(map[string]any); ok {
		feedforward[settings.KindKey] = "gelu"
		if _, mixture := feedforward["experts"]; mixture {
			feedforward[settings.KindKey] = "moe"
		}
	}
}

// setPath stores a value at a dotted key, and makes the sections that are missing.
func setPath(sections map[string]any, key string, value any) {
	name, rest, below := strings.Cut(key, ".")
	if !below {
		sections[name] = value
		return
	}
	inner, ok := sections[name].(map[string]any)
	if !ok {
		inner = map[string]any{}
		sections[name] = inner
	}
	setPath(inner, rest, value)
}

func orNull(text json.RawMessage) json.RawMessage {
	if len(text) == 0 {
		return json.RawMessage("null")
	}
	return text
}

// isZeroJSON tells whether JSON holds a zero value.
func isZeroJSON(text json.RawMessage) bool {
	switch strings.TrimSpace(string(text)) {
	case "0", "false", `""`, "null":
		return true
	}
	return false
}
