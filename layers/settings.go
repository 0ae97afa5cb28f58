package layers

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/residua-go/residua/internal/setting"
)

// SettingError is a setting with a bad value; its message is "n: want >= 1, got 0".
type SettingError = setting.Error

// Setting is the error of a setting, a *SettingError.
func Setting(key, format string, args ...any) error { return setting.Errorf(key, format, args...) }

// MaxSize keeps products of two sizes within an int; token ids are int32.
const MaxSize = math.MaxInt32

// WithDefaults is a design, of a stream or of a feed-forward, whose settings that are zero, and have a default, are
// filled in by its method Defaults, which returns a D. A design without that method has no defaults.
func WithDefaults[D any](design D) D {
	if d, ok := any(design).(interface{ Defaults() D }); ok {
		return d.Defaults()
	}
	return design
}

// CheckSize wants a setting from 1 to MaxSize; the error is a *SettingError, as with the checks after it.
func CheckSize(key string, value int) error {
	switch {
	case value < 1:
		return Setting(key, "want >= 1, got %d", value)
	case value > MaxSize:
		return Setting(key, "want at most %d, got %d", MaxSize, value)
	}
	return nil
}

// CheckPositive wants a setting that is a number above 0, which float32 has.
func CheckPositive(key string, x float64) error {
	if x > 0 && x <= math.MaxFloat32 {
		return nil
	}
	return Setting(key, "want a positive number, got %g", x)
}

// CheckChoice wants a setting that is one of some words.
func CheckChoice(key, got string, known ...string) error {
	if slices.Contains(known, got) {
		return nil
	}
	last := len(known) - 1
	return Setting(key, "want %s or %s, got %q", strings.Join(known[:last], ", "), known[last], got)
}

// CheckOnly wants settings that belong to a choice, "form: paper", to be left out where another is got: set says of
// each key whether it is there.
func CheckOnly(choice, got string, set map[string]bool) error {
	for _, key := range slices.Sorted(maps.Keys(set)) {
		if set[key] && got != choice {
			return Setting(key, "want %s with it, got %s", choice, got)
		}
	}
	return nil
}
