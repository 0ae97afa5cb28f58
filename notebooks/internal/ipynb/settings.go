package ipynb

import (
	"bytes"
	"encoding/json"
	"regexp"

	"github.com/pkg/errors"
)

// SettingsKey is the key of a notebook's or a cell's metadata that holds its Settings.
const SettingsKey = "residua"

// Defaults of Settings.
const (
	DefaultTolerance = 1e-3
	DefaultAbsolute  = 1e-9
)

// Settings say how the outputs of a cell are compared with the committed ones. In a file they
// are the metadata
//
//	"residua": {"tolerance": 0.01, "absolute": 1e-6, "volatile": ["[0-9.]+ s"]}
//
// of the notebook, or of a cell, whose keys override the notebook's.
type Settings struct {
	// Tolerance is the largest relative difference of two numbers; default 1e-3.
	Tolerance float64
	// Absolute is a difference that is always allowed, for numbers around 0; default 1e-9.
	Absolute float64
	// Volatile matches text that may be anything, such as a time. Only that it is there counts.
	Volatile []*regexp.Regexp
	// VolatileAll says that all the text of the cell may be anything ("volatile": true).
	VolatileAll bool
}

// DefaultSettings are those of a notebook that says nothing.
func DefaultSettings() Settings {
	return Settings{Tolerance: DefaultTolerance, Absolute: DefaultAbsolute}
}

// Override returns the settings with what the metadata of a notebook or cell says of them.
func (s Settings) Override(metadata map[string]any) (Settings, error) {
	value, given := metadata[SettingsKey]
	if !given {
		return s, nil
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return s, errors.Wrapf(err, "metadata %q", SettingsKey)
	}
	var keys struct {
		Tolerance *float64        `json:"tolerance"`
		Absolute  *float64        `json:"absolute"`
		Volatile  json.RawMessage `json:"volatile"`
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&keys); err != nil {
		return s, errors.Errorf("metadata %q: want the keys tolerance, absolute, volatile, got %s (%v)", SettingsKey, raw, err)
	}
	if s.Tolerance, err = bound("tolerance", keys.Tolerance, s.Tolerance); err != nil {
		return s, err
	}
	if s.Absolute, err = bound("absolute", keys.Absolute, s.Absolute); err != nil {
		return s, err
	}
	return s.withVolatile(keys.Volatile)
}

// bound returns the given value, or the one from before.
func bound(name string, given *float64, before float64) (float64, error) {
	if given == nil {
		return before, nil
	}
	if !(*given >= 0) {
		return before, errors.Errorf("metadata %q: %s: want a number >= 0, got %v", SettingsKey, name, *given)
	}
	return *given, nil
}

// withVolatile reads true, false or a list of regular expressions.
func (s Settings) withVolatile(raw json.RawMessage) (Settings, error) {
	if raw == nil {
		return s, nil
	}
	s.Volatile = nil
	if err := json.Unmarshal(raw, &s.VolatileAll); err == nil {
		return s, nil
	}
	var patterns []string
	if err := json.Unmarshal(raw, &patterns); err != nil {
		return s, errors.Errorf("metadata %q: volatile: want true or a list of regular expressions, got %s", SettingsKey, raw)
	}
	for _, pattern := range patterns {
		compiled, err := regexp.Compile(pattern)
		if err != nil {
			return s, errors.Errorf("metadata %q: volatile: %v", SettingsKey, err)
		}
		s.Volatile = append(s.Volatile, compiled)
	}
	return s, nil
}
