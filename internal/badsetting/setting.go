// Package badsetting holds the errors for a setting with a bad value and for a call that cannot
// work. It imports no other package of this module, so that every package can use it.
package badsetting

import "fmt"

// Error reports a setting with a bad value.
type Error struct{ Key, Problem string }

// Error returns a text such as "n: want >= 1, got 0".
func (e *Error) Error() string { return e.Key + ": " + e.Problem }

// Errorf returns an *Error for a setting.
func Errorf(key, format string, args ...any) error {
	return &Error{Key: key, Problem: fmt.Sprintf(format, args...)}
}
