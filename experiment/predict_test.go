package experiment

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestThreeDigits: large numbers have no exponent, small ones have three digits.
func TestThreeDigits(t *testing.T) {
	for v, want := range map[float64]string{0.01234: "0.0123", 14.66: "14.7", 239.4: "239", 1299.6: "1,300", 12345: "12,345"} {
		assert.Equal(t, want, threeDigits(v))
	}
}
