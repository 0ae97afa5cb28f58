package eval

import (
	"encoding/json"
	"fmt"
	"math"
)

// Number is a float64 that JSON can always write: one that is not finite, such as the loss of a run
// that diverged, is null.
type Number float64

// MarshalJSON writes a number with every bit, or null.
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

// Text writes a number by a format of package fmt, as in %.4f, and "-" for one that is not finite.
func (n Number) Text(format string) string {
	if !n.Finite() {
		return "-"
	}
	return fmt.Sprintf(format, float64(n))
}
