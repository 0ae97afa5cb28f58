package longtest

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSkip(t *testing.T) {
	for value, want := range map[string]bool{"": false, "0": false, "1": !testing.Short(), All: !testing.Short()} {
		t.Setenv(variable, value)
		assert.Equal(t, want, Enabled(), "%q", value)
		assert.Equal(t, want && value == All, Exhaustive(), "%q", value)
		ran := false
		t.Run("long", func(t *testing.T) {
			Skip(t)
			ran = true
		})
		assert.Equal(t, want, ran, "%q", value)
		for _, chosen := range []bool{true, false} {
			ran = false
			t.Run("case", func(t *testing.T) {
				Represent(t, chosen)
				ran = true
			})
			assert.Equal(t, chosen || Exhaustive(), ran, "%q", value)
		}
	}
}
