package sourcecheck

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReliabilityNamesTests: every test that docs/reliability.md names exists, in the package that
// it names; a bug's row also says whether its test fails before the mend.
func TestReliabilityNamesTests(t *testing.T) {
	atRoot(t)
	text, err := os.ReadFile(filepath.Join("docs", "reliability.md"))
	require.NoError(t, err)
	tests := map[string]string{} // the packages of each, in one text
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	for _, path := range files(t, "_test.go", ".go") {
		if !strings.HasSuffix(path, "_test.go") {
			continue
		}
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, f := range function.FindAllStringSubmatch(string(source), -1) {
			tests[f[1]] += " " + filepath.ToSlash(filepath.Dir(path)) + " "
		}
	}
	named := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`(?: in `([a-z/]+)`)?")
	bug := regexp.MustCompile("^\\| `[a-z0-9-]+` \\| .* \\| [0-9a-f]{8} \\| ([a-z/]+) \\| .*`(\\w+)` \\| (fails|no) \\|$")
	bugs := 0
	for _, line := range strings.Split(string(text), "\n") {
		if row := bug.FindStringSubmatch(line); row != nil {
			above := strings.ReplaceAll(row[1], "/", "(/") + strings.Repeat(")?", strings.Count(row[1], "/")) // it may have moved there
			assert.Regexp(t, "[ /]"+above+" ", tests[row[2]], "%s in %s, as its path was then", row[2], row[1])
			bugs++
			continue
		}
		for _, name := range named.FindAllStringSubmatch(line, -1) {
			assert.Contains(t, tests[name[1]], " "+name[2], "%s in %s", name[1], name[2])
		}
	}
	assert.Equal(t, strings.Count(string(text), "| fails |")+strings.Count(string(text), "| no |"), bugs, "a row that is not NAME, what, found by, commit, package, test, before")
	assert.Greater(t, bugs, 30)
}

// TestPlantedFaults: each fuzz target has a fault to find, whose text is in its file once.
func TestPlantedFaults(t *testing.T) {
	atRoot(t)
	targets := map[string]bool{} // whether a fault is planted for it
	for _, path := range files(t, ".go") {
		if !strings.HasSuffix(path, "_test.go") {
			continue
		}
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, f := range regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`).FindAllStringSubmatch(string(source), -1) {
			targets[filepath.ToSlash(filepath.Dir(path))+" "+f[1]] = false
		}
	}
	planted, err := os.ReadFile(filepath.Join("internal", "fuzztest", "planted.tsv"))
	require.NoError(t, err)
	plain := strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\\`, `\`)
	for _, line := range strings.Split(strings.TrimSpace(string(planted)), "\n") {
		row := strings.Split(line, "\t")
		require.Len(t, row, 5, line)
		target := row[0] + " " + row[1]
		assert.Contains(t, targets, target)
		targets[target] = true
		source, err := os.ReadFile(filepath.FromSlash(row[2]))
		require.NoError(t, err)
		assert.Equal(t, 1, strings.Count(string(source), plain.Replace(row[3])), "%s: %s", row[2], row[3])
		assert.NotEqual(t, row[3], row[4])
	}
	for target, found := range targets {
		assert.True(t, found, "%s: want a row in internal/fuzztest/planted.tsv", target)
	}
	assert.Greater(t, len(targets), 18)
}
