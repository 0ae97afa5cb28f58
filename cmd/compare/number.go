package main

import (
	"encoding/json"
	"fmt"
	"math"
)

// number is a float64 that JSON can always write: one that is not finite, as the loss of a
// run that diverged, is null.
type number float64

// MarshalJSON writes a number with every bit, or null.
func (n number) MarshalJSON() ([]byte, error) {
	if !n.finite() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON reads null as NaN.
func (n *number) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*n = number(math.NaN())
		return nil
	}
	return json.Unmarshal(text, (*float64)(n))
}

func (n number) finite() bool { return !math.IsNaN(float64(n)) && !math.IsInf(float64(n), 0) }

// text writes a number for a table, "-" for one that is not finite.
func (n number) text(format string) string {
	if !n.finite() {
		return "-"
	}
	return fmt.Sprintf(format, float64(n))
}
