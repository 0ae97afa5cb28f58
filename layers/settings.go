package layers

import (
	"fmt"
	"math"
)

// SettingError is a setting with a bad value.
type SettingError struct{ Key, Problem string }

// Error returns "n: want >= 1, got 0".
func (e *SettingError) Error() string { return e.Key + ": " + e.Problem }

// Setting is the error of a setting, a *SettingError.
func Setting(key, format string, args ...any) error {
	return &SettingError{Key: key, Problem: fmt.Sprintf(format, args...)}
}

// MaxSize keeps products of two sizes within an int; token ids are int32.
const MaxSize = math.MaxInt32

// Size is a setting that must be from 1 to MaxSize.
type Size struct {
	Key   string
	Value int
}

// CheckSizes tells the first size out of bounds, a *SettingError.
func CheckSizes(sizes ...Size) error {
	for _, s := range sizes {
		switch {
		case s.Value < 1:
			return Setting(s.Key, "want >= 1, got %d", s.Value)
		case s.Value > MaxSize:
			return Setting(s.Key, "want at most %d, got %d", MaxSize, s.Value)
		}
	}
	return nil
}
