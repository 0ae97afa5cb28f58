package layers

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/residua-go/residua/internal/badsetting"
)

// SettingError is the error for a setting with a bad value; its message is like "n: want >= 1, got
// 0".
type SettingError = badsetting.Error

// Setting returns a *SettingError for a key, formatted as by fmt.Sprintf.
func Setting(key, format string, args ...any) error { return badsetting.Errorf(key, format, args...) }

// MaxSize is the largest size that a setting may have: a product of two sizes then fits into an
// int, and a token id into an int32.
const MaxSize = math.MaxInt32

// WithDefaults returns the design of a stream or a feed-forward with defaults for settings that are
// zero. It calls the design's method Defaults, which returns a D; it returns a design without that
// method unchanged.
func WithDefaults[D any](design D) D {
	if d, ok := any(design).(interface{ Defaults() D }); ok {
		return d.Defaults()
	}
	return design
}

// CheckSize returns an error unless a setting is from 1 to MaxSize. Like all checks here it returns
// a *SettingError.
func CheckSize(key string, value int) error {
	switch {
	case value < 1:
		return Setting(key, "want >= 1, got %d", value)
	case value > MaxSize:
		return Setting(key, "want at most %d, got %d", MaxSize, value)
	}
	return nil
}

// CheckPositive returns an error unless a setting is above 0 and float32 can hold it.
func CheckPositive(key string, x float64) error {
	if x > 0 && x <= math.MaxFloat32 {
		return nil
	}
	return Setting(key, "want a positive number, got %g", x)
}

// CheckChoice returns an error unless a setting is one of the known words.
func CheckChoice(key, got string, known ...string) error {
	if slices.Contains(known, got) {
		return nil
	}
	last := len(known) - 1
	return Setting(key, "want %s or %s, got %q", strings.Join(known[:last], ", "), known[last], got)
}

// CheckOnly returns an error if a setting that exists only with one choice, such as "form: paper",
// is set although got is another choice. set tells, by key, which of these settings are set.
func CheckOnly(choice, got string, set map[string]bool) error {
	for _, key := range slices.Sorted(maps.Keys(set)) {
		if set[key] && got != choice {
			return Setting(key, "want %s with it, got %s", choice, got)
		}
	}
	return nil
}
