package eval

import (
	"encoding/json"
	"fmt"
	"math"
)

// Number is a float64 that JSON can always hold: a value that is not finite, such as the loss of a
// run that diverged, is written as null.
type Number float64

// MarshalJSON writes the number with full precision, or null.
func (n Number) MarshalJSON() ([]byte, error) {
	if !n.Finite() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON reads null as NaN.
func (n *Number) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*n = Number(math.NaN())
		return nil
	}
	return json.Unmarshal(text, (*float64)(n))
}

// Finite tells whether n is neither infinite nor NaN.
func (n Number) Finite() bool { return !math.IsNaN(float64(n)) && !math.IsInf(float64(n), 0) }

// Text formats a number as package fmt does, for example with %.4f; a value that is not finite
// gives "-".
func (n Number) Text(format string) string {
	if !n.Finite() {
		return "-"
	}
	return fmt.Sprintf(format, float64(n))
}
