package experiment

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models"
)

// logOf writes a log for the config in a file, with a run for each seed that losses gives by cell.
func logOf(t *testing.T, file string, losses map[string][]float64) {
	t.Helper()
	c, err := Load(Kinds(models.Standard()), file, nil)
	require.NoError(t, err)
	p, err := c.Plan(t.Context(), models.Standard(), strings.TrimSuffix(file, ".yaml"))
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(p.out, 0o755))
	var log []byte
	for _, cell := range p.cells {
		for seed, loss := range losses[cell.Name()] {
			run, err := cell.at(0, uint64(seed))
			require.NoError(t, err)
			line, err := json.Marshal(Record{Run: run.Name, Series: cell.series, Seed: uint64(seed), Config: run.identity, Tokens: int64(run.Run.TotalSteps() * run.Run.StepTokens()), Loss: eval.Number(loss)})
			require.NoError(t, err)
			log = append(append(log, line...), '\n')
		}
	}
	require.NoError(t, os.WriteFile(filepath.Join(p.out, logFile), log, 0o644))
}

// TestLengths: tokens are read off the curve of the other series, either way round, and not beyond
// its ends; the test takes its lengths from whichever study has them.
func TestLengths(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		return file
	}
	base := write("base.yaml", "model: {preset: quickstart-transformer}\ntrain: {batch: 2, steps: 0, tokens: 1024, lr: 0.001}\n")
	series := "base: " + base + "\nseeds: 2\nseries: [{name: a}, {name: b, set: [train.lr=0.002]}]\n"
	short := write("short.yaml", series+"experiment: {kind: sweep, key: train.tokens, values: [1024, 4096]}\n")
	long := write("long.yaml", strings.Replace(series, "{name: a}, ", "", 1)+"set: [train.tokens=16384]\nexperiment: {kind: lengths, of: a, against: b, with: ["+short+
		"], test_of: 4096, test_against: 16384}\n")
	logOf(t, short, map[string][]float64{"a 1024": {3.1, 2.9}, "a 4096": {1.9, 2.1}, "b 1024": {4, 4}, "b 4096": {2.9, 3.1}})
	logOf(t, long, map[string][]float64{"b": {2.5, 2.5}})
	c, err := Load(Kinds(models.Standard()), long, nil)
	require.NoError(t, err)
	p, err := c.Plan(t.Context(), models.Standard(), strings.TrimSuffix(long, ".yaml"))
	require.NoError(t, err)
	report, err := p.Report()
	require.NoError(t, err)
	text := report.Text()
	for _, want := range []string{
		`\na +1,024 +3\.0000 ± 0\.1000 +4\.00 +3\.48 to 5\.28\n`, // b: 4 at 1,024, 3 at 4,096, 2.5 at 16,384
		`\na +4,096 +2\.0000 ± 0\.1000 +> 4\.00 +> 4\.00 to > 4\.00\n`,
		`\nb +1,024 +4\.0000 ± 0\.0000 +> 1\.00 +> 1\.00 to > 1\.00\n`, // a: 3 at 1,024, 2 at 4,096
		`\nb +4,096 +3\.0000 ± 0\.1000 +4\.00 +> 4\.00 to 3\.48\n`,
		`\nb +16,384 +2\.5000 ± 0\.0000 +8\.00 +8\.00 to 8\.00\n`,
		`\na, 4,096 tokens - b, 16,384 tokens +2 +0 +2 +-0\.5000 ± 0\.1000 +0\.25\n`,
	} {
		assert.Regexp(t, want, text)
	}
	assert.Len(t, report.Picture.(figure.Lines).Series, 2)
}

// TestLengthsWithDivergedRuns: a diverged run counts as worse than all that did not.
func TestLengthsWithDivergedRuns(t *testing.T) {
	cell := func(losses ...float64) []Result {
		c := Result{}
		for seed, loss := range losses {
			c.runs = append(c.runs, Record{Seed: uint64(seed), Tokens: 100, Loss: eval.Number(loss)})
		}
		return []Result{c}
	}
	nan := math.NaN()
	l := Lengths{Of: "a", Against: "b", TestOf: 100, TestAgainst: 100}
	for name, c := range map[string]struct {
		of, against []Result
		want        []string // pairs, diverged, below 0, p
	}{
		"none":      {cell(1, 1, 1), cell(2, 2, 3), []string{"3", "0", "3", "0.125"}},
		"the first": {cell(1, 1, nan), cell(2, 2, 2), []string{"3", "1", "2", "0.625"}},
		"the other": {cell(1, 1, 1), cell(2, nan, 2), []string{"3", "1", "3", "0.125"}},
		"both":      {cell(1, nan, 1), cell(2, nan, 2), []string{"3", "1", "2", "0.25"}},
	} {
		row := l.test(c.of, c.against).Rows[0]
		assert.Equal(t, c.want, []string{row[1], row[2], row[3], row[5]}, name)
	}
}
