package sourcecheck

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/analysis/report"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
)

// row is a statement in docs/sources.md.
type row struct {
	source, statement string
	where             []string // files
	commands          []string
	tests             map[string][]string // names by package
	open              string              // why it is not shown yet; "": it is shown
}

var (
	quoted   = regexp.MustCompile("`([^`]+)`")
	testName = regexp.MustCompile(`\b(?:Test|Example)\w*`)
)

// TestEveryStatementIsShown: each row names files, commands and tests that exist, or says why it is
// not shown yet; a row that names an analysis says what the analysis found.
func TestEveryStatementIsShown(t *testing.T) {
	atRoot(t)
	text, err := os.ReadFile(filepath.Join("docs", "sources.md"))
	require.NoError(t, err)
	rows := parseTable(t, string(text))
	sources := map[string]int{}
	for _, r := range rows {
		sources[r.source]++
		r.check(t)
	}
	assert.GreaterOrEqual(t, len(rows), 45)
	assert.Len(t, sources, 7, "%v", sources)
}

// TestMissingNamesAreFound: a file, a command or a test that does not exist is reported.
func TestMissingNamesAreFound(t *testing.T) {
	for _, cells := range []string{
		"`models/zoo.go` | `go run ./cmd/residua analyze wiring -checkpoint RUN` | `models`: TestPresetCounts",
		"`models/none.go` | `go run ./cmd/residua models` | `models`: TestPresetCounts",
		"`models/zoo.go` | `go run ./cmd/none` | `models`: TestPresetCounts",
		"`models/zoo.go` | `go run ./cmd/residua analyze none` | `models`: TestPresetCounts",
		"`models/zoo.go` | `go run ./cmd/residua analyze mixing -checkpoint RUN` | `models`: TestPresetCounts",
		"`models/zoo.go` | `go run ./cmd/residua analyze wiring -checkpoint runs/none` | `models`: TestPresetCounts",
		"`models/zoo.go` | `make notebooks ONLY=99` | `models`: TestPresetCounts",
		"`models/zoo.go` | `go run ./cmd/residua models` | `models`: TestNone",
		"`models/zoo.go` | `go run ./cmd/residua models` | `none`: TestPresetCounts",
		"`models/zoo.go` | `go run ./cmd/residua models` | ",
		"`models/zoo.go` | not yet: | `models`: TestPresetCounts",
	} {
		var noted failures
		for _, r := range parseTable(t, "## A\n\n| statement | where | shown by | held by |\n|---|---|---|---|\n| s | "+cells+" |\n") {
			r.check(&noted)
		}
		assert.NotZero(t, noted, cells)
	}
}

// failures counts failures.
type failures int

func (f *failures) Errorf(string, ...any) { *f++ }

// parseTable reads the rows of every table under a heading.
func parseTable(t *testing.T, text string) []row {
	var rows []row
	source := ""
	for _, line := range strings.Split(text, "\n") {
		if heading, is := strings.CutPrefix(line, "## "); is {
			source = heading
		}
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| statement") || strings.HasPrefix(line, "|---") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		require.Len(t, cells, 4, line)
		r := row{source: source, statement: strings.TrimSpace(cells[0]), tests: testsOf(cells[3])}
		for _, q := range quoted.FindAllStringSubmatch(cells[1], -1) {
			r.where = append(r.where, q[1])
		}
		if reason, is := strings.CutPrefix(strings.TrimSpace(cells[2]), "not yet:"); is {
			r.open = strings.TrimSpace(reason) + " "
		}
		for _, q := range quoted.FindAllStringSubmatch(cells[2], -1) {
			r.commands = append(r.commands, q[1])
		}
		rows = append(rows, r)
	}
	return rows
}

// testsOf reads "`package`: TestA, TestB; `other`: TestC".
func testsOf(cell string) map[string][]string {
	tests := map[string][]string{}
	for _, part := range strings.Split(cell, ";") {
		if dir := quoted.FindStringSubmatch(part); dir != nil {
			tests[dir[1]] = append(tests[dir[1]], testName.FindAllString(part, -1)...)
		}
	}
	return tests
}

func (r row) check(t assert.TestingT) {
	assert.NotEmpty(t, r.statement)
	for _, file := range r.where {
		assert.True(t, exists(file), "%s: %s: want a file or folder of that name", r.statement, file)
	}
	if r.open != "" {
		assert.Greater(t, len(r.open), 10, "%s: want a reason after \"not yet:\"", r.statement)
		return
	}
	assert.NotEmpty(t, r.where, "%s: want where it is in the code", r.statement)
	assert.NotEmpty(t, r.commands, "%s: want a command that shows it", r.statement)
	for _, command := range r.commands {
		if strings.HasPrefix(command, "-") {
			continue // another flag of the command before
		}
		for _, word := range strings.Fields(command) {
			if strings.Contains(word, "/") && strings.Contains(filepath.Base(word), ".") && !strings.HasPrefix(word, "./") {
				assert.True(t, exists(word), "%s: %s: want a file %s", r.statement, command, word)
			}
		}
		assert.True(t, isCommand(command), "%s: %s: want a program, an analysis or a notebook of that name", r.statement, command)
		assert.NoError(t, hasAnalysis(command), "%s: %s", r.statement, command)
		if isMeasured(command) {
			assert.Contains(t, r.statement, "**Outcome**: ", "%s: want what came out", command)
		}
	}
	assert.NotEmpty(t, r.tests, "%s: want a test", r.statement)
	for dir, names := range r.tests {
		assert.NotEmpty(t, names, "%s: want a test of %s", r.statement, dir)
		source := textOf(dir, "*_test.go")
		for _, name := range names {
			assert.True(t, strings.Contains(source, "func "+name+"("), "%s: want a test %s in %s", r.statement, name, dir)
		}
	}
}

// isCommand tells whether a command is one of our programs, or a make command that runs an existing
// notebook.
func isCommand(command string) bool {
	words := strings.Fields(strings.TrimPrefix(command, "go run ./"))
	switch {
	case words[0] == "cmd/residua" && len(words) > 2 && words[1] == "analyze":
		return analysisOf(words[2]) != nil
	case words[0] == "cmd/residua":
		return len(words) > 1 && exists("cli/"+words[1])
	case words[0] == "make":
		notebooks, err := filepath.Glob(filepath.Join("notebooks", strings.TrimPrefix(words[len(words)-1], "ONLY=")+"-*.ipynb"))
		return err == nil && len(notebooks) == 1
	}
	return strings.HasPrefix(command, "go run ./") && exists(words[0])
}

// isMeasured tells whether a command analyses a trained model.
func isMeasured(command string) bool {
	return strings.Contains(command, "cmd/residua analyze ") && !strings.Contains(command, "analyze theory")
}

// hasAnalysis returns an error if a command analyses a run whose model lacks that analysis. RUN is
// runs/quickstart, and runs/NAME is made by the config NAME.
func hasAnalysis(command string) error {
	words := strings.Fields(command)
	at := slices.Index(words, "-checkpoint")
	if at < 0 || at+1 == len(words) || words[2] != "./cmd/residua" || words[3] != "analyze" {
		return nil
	}
	run, _, err := runconfig.Load(models.Standard(), strings.TrimPrefix(strings.Replace(words[at+1], "RUN", "runs/quickstart", 1), "runs/"), nil)
	if err != nil {
		return err
	}
	all, err := report.Analyses(models.Standard())
	if err != nil || slices.ContainsFunc(report.Supported(all, run.Spec()), func(a report.Analysis) bool { return a.Name() == words[4] }) {
		return err
	}
	return errors.Errorf("%s has no analysis %s", run.Name, words[4])
}

// analysisOf returns the analysis with a name, nil if there is none.
func analysisOf(name string) report.Analysis {
	all, err := report.Analyses(models.Standard())
	if i := slices.IndexFunc(all, func(a report.Analysis) bool { return a.Name() == name }); err == nil && i >= 0 {
		return all[i]
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(filepath.FromSlash(path))
	return err == nil
}

// textOf returns the text of the files in a folder that match a pattern; "" if there are none.
func textOf(dir, pattern string) string {
	files, err := filepath.Glob(filepath.Join(filepath.FromSlash(dir), pattern))
	if err != nil {
		return ""
	}
	var text strings.Builder
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err == nil {
			text.Write(content)
		}
	}
	return text.String()
}
