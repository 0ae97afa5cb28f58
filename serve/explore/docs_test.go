package explore_test

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/serve/explore"
)

// TestDocs: an Explorer answers the changes and the calls that docs/explorer.md shows.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/explorer.md")
	require.NoError(t, err)
	p, err := models.Standard().Preset("quickstart")
	require.NoError(t, err)
	p.Config.Vocab = 257
	c := tiny(t, p.Config, "bytes")
	changes := regexp.MustCompile("(?s)```json\n(.*?)```").FindSubmatch(text)
	require.Len(t, changes, 2)
	for line := range strings.SplitSeq(strings.TrimSpace(string(changes[1])), "\n") {
		var change explore.Change
		require.NoError(t, strict(line, &change), line)
		tokens, _ := c.run(explore.Run{Prompt: "if err != nil {", Changes: []explore.Change{change}})
		require.NotEqual(t, tokens["untouched"], tokens["changed"], line)
	}
	calls := regexp.MustCompile(`http://127.0.0.1:8080(/explorer/[\w/]+) [^'"]*'[^']*' \\\n  -d '(.*)'`).FindAllSubmatch(text, -1)
	require.Len(t, calls, 3)
	for _, call := range calls {
		c.post(string(call[1]), string(call[2]), http.StatusOK)
	}
}
