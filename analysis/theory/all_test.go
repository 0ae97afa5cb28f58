package theory

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/figure"
)

// few trials: names, keys and seeds do not depend on how many.
const few = 3

// TestNames: each result has a name of its own that can be a file's, and says what it assumes.
func TestNames(t *testing.T) {
	results, err := all(1, few)
	require.NoError(t, err)
	names := map[string]bool{}
	for _, r := range results {
		assert.Regexp(t, regexp.MustCompile(`^[a-z0-9-]+$`), r.Name)
		assert.False(t, names[r.Name], r.Name)
		names[r.Name] = true
		assert.NotEmpty(t, r.Notes, r.Name)
		assert.NoError(t, figure.Check(r.Of.Table()), r.Name)
	}
}

// The same seed gives the same results; another changes the Monte-Carlo tables alone.
func TestAllIsDeterministic(t *testing.T) {
	texts := func(seed uint64) map[string]string {
		results, err := all(seed, few)
		require.NoError(t, err)
		texts := map[string]string{}
		for _, r := range results {
			text, err := json.Marshal(r.Of)
			require.NoError(t, err)
			assert.NotRegexp(t, regexp.MustCompile(`"[^"]*[A-Z][^"]*":`), string(text), "%s: keys are in snake case", r.Name)
			texts[r.Name] = string(text)
		}
		return texts
	}
	first, again, other := texts(1), texts(1), texts(2)
	assert.Equal(t, first, again)
	for name := range first {
		simulated := strings.HasSuffix(name, "table-1") || strings.HasSuffix(name, "table-2")
		assert.Equal(t, simulated, first[name] != other[name], name)
	}
}
