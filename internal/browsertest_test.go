package internal_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/browsertest"
)

// TestBrowser runs scripts in a browser and reads the console.
func TestBrowser(t *testing.T) {
	b := browsertest.Open(t, 800, 600)
	if b == nil {
		t.Skip("short, or chromium is not in PATH")
	}
	var sum int
	require.NoError(t, b.Script("console.log('seen'); return arguments[0] + arguments[1]", &sum, 2, 3))
	assert.Equal(t, 5, sum)
	var size [2]int
	require.NoError(t, b.Script("return [innerWidth, innerHeight]", &size))
	assert.Equal(t, 800, size[0])
	assert.Equal(t, []string{`log: "seen"`}, b.Console())
	assert.Empty(t, b.Console())
	assert.ErrorContains(t, b.Script("return nothing.at.all", nil), "ReferenceError: nothing is not defined")
	require.NoError(t, b.Script("const e = document.createElement('script'); e.text = 'nothing.either'; document.head.append(e)", nil))
	messages := b.Console()
	require.Len(t, messages, 1)
	assert.Contains(t, messages[0], "ReferenceError: nothing is not defined")
}
