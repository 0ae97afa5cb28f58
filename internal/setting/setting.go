// Package setting has the error of a setting with a bad value, for packages low and high: it imports nothing of ours.
package setting

import "fmt"

// Error is a setting with a bad value.
type Error struct{ Key, Problem string }

// Error returns "n: want >= 1, got 0".
func (e *Error) Error() string { return e.Key + ": " + e.Problem }

// Errorf is the error of a setting, an *Error.
func Errorf(key, format string, args ...any) error {
	return &Error{Key: key, Problem: fmt.Sprintf(format, args...)}
}
