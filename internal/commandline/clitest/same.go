package clitest

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// AssertSame compares two texts line by line and word by word. Numbers may differ by a rounding of
// their last digit or by a thousandth, because processors differ.
func AssertSame(t testing.TB, want, got string) {
	t.Helper()
	wants, gots := strings.Split(strings.TrimSpace(want), "\n"), strings.Split(strings.TrimSpace(got), "\n")
	require.Len(t, gots, len(wants), got)
	for i, line := range wants {
		words := strings.Fields(gots[i])
		require.Len(t, words, len(strings.Fields(line)), got)
		for j, w := range strings.Fields(line) {
			assertSameWord(t, w, words[j], got)
		}
	}
}

func assertSameWord(t testing.TB, want, got, text string) {
	t.Helper()
	a, errA := strconv.ParseFloat(strings.TrimSuffix(want, "%"), 64)
	b, errB := strconv.ParseFloat(strings.TrimSuffix(got, "%"), 64)
	if errA != nil || errB != nil {
		assert.Equal(t, want, got, text)
		return
	}
	mantissa, exponent, _ := strings.Cut(strings.TrimSuffix(want, "%"), "e")
	_, decimals, _ := strings.Cut(mantissa, ".")
	power, _ := strconv.Atoi(exponent)
	digit := math.Pow10(power - len(decimals))
	assert.InDelta(t, a, b, max(1.01*digit, 1e-3*math.Abs(a)), "%s, want %s in:\n%s", got, want, text)
}
