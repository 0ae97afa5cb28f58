package ipynb

import (
	"bytes"
	"encoding/json"
	"regexp"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/settings"
)

// settingsKey is the key of a notebook's or a cell's metadata that holds its Settings.
const settingsKey = "residua"

// Settings say how to compare the outputs of a cell with the committed ones. A file has them as
// metadata
//
//	"residua": {"tolerance": 0.01, "absolute": 1e-6, "volatile": ["[0-9.]+ s"]}
//
// of the notebook or of a cell; a cell's keys override the notebook's.
type Settings struct {
	// Tolerance is the largest relative difference of two numbers.
	Tolerance float64 `yaml:"tolerance" min:"0"`
	// Absolute is a difference that is always accepted, for numbers around 0.
	Absolute float64  `yaml:"absolute" min:"0"`
	Volatile Volatile `yaml:"volatile"`
}

// Volatile is text that may be anything, such as a time; the comparison only requires that it is
// there.
type Volatile struct {
	All      bool // all text of the cell; written as true in a file
	Patterns []*regexp.Regexp
}

// UnmarshalJSON accepts true, false or a list of regular expressions.
func (v *Volatile) UnmarshalJSON(raw []byte) error {
	*v = Volatile{}
	if err := json.Unmarshal(raw, &v.All); err == nil {
		return nil
	}
	return errors.Wrapf(json.Unmarshal(raw, &v.Patterns), "volatile: want true or a list of regular expressions, got %s", raw)
}

// defaultSettings returns the settings of a notebook that sets none.
func defaultSettings() Settings { return Settings{Tolerance: 1e-3, Absolute: 1e-9} }

// Override returns the settings, overridden by the metadata of a notebook or cell.
func (s Settings) Override(metadata map[string]any) (Settings, error) {
	value, given := metadata[settingsKey]
	if !given {
		return s, nil
	}
	raw, err := json.Marshal(value)
	if err == nil {
		err = settings.DecodeJSON(bytes.NewReader(raw), &s)
	}
	return s, errors.Wrapf(err, "metadata %q", settingsKey)
}
