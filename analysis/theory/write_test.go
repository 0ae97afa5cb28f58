package theory

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// few trials: what is written does not depend on how many.
const few = 3

func TestWrite(t *testing.T) {
	results, err := all(1, few)
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "new", "folder")
	require.NoError(t, Write(dir, results))
	written := 0
	for _, r := range results {
		assert.Regexp(t, regexp.MustCompile(`^[a-z0-9-]+$`), r.Name())
		text, err := os.ReadFile(filepath.Join(dir, r.Name()+".md"))
		require.NoError(t, err)
		assert.Contains(t, string(text), r.Table().Title)
		for _, note := range r.Notes() {
			assert.Contains(t, string(text), note)
		}
		records := readCSV(t, filepath.Join(dir, r.Name()+".csv"))
		assert.Equal(t, append([][]string{r.Table().Header}, r.Table().Rows...), records)
		stems := []string{r.Name()}
		if n := len(r.Figures()); n != 1 {
			stems = []string{r.Name() + "a", r.Name() + "b"}[:n]
		}
		for _, stem := range stems {
			startsWith(t, filepath.Join(dir, stem+".svg"), "<svg")
			startsWith(t, filepath.Join(dir, stem+".png"), "\x89PNG")
		}
		written += 2 + 2*len(stems)
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, written, "no name is used twice, nothing else is left")
}

func readCSV(t *testing.T, path string) [][]string {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	return records
}

func startsWith(t *testing.T, path, want string) {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Contains(t, string(content[:min(200, len(content))]), want, path)
}

func TestWriteNamesTheFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	assert.ErrorContains(t, Write(file, nil), file)
}

// The same seed gives the same results; another changes the Monte-Carlo tables alone.
func TestAllIsDeterministic(t *testing.T) {
	texts := func(seed uint64) map[string]string {
		results, err := all(seed, few)
		require.NoError(t, err)
		texts := map[string]string{}
		for _, r := range results {
			text, err := json.Marshal(r)
			require.NoError(t, err)
			assert.NotRegexp(t, regexp.MustCompile(`"[^"]*[A-Z][^"]*":`), string(text), "%s: keys are in snake case", r.Name())
			texts[r.Name()] = string(text)
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
