package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/experiment"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/commandline/clitest"
	"github.com/residua-go/residua/internal/experimenttest"
	"github.com/residua-go/residua/models"
)

// callExperiment calls experiment.
func callExperiment(args ...string) clitest.Outcome {
	return call(append([]string{"experiment"}, args...)...)
}

// writeExperiment writes an experiment of three variants, and returns its file.
func writeExperiment(t *testing.T, steps string) string {
	dir := t.TempDir()
	base := experimenttest.Config(t, dir, "base", experimenttest.Vector)
	var sets []string
	for _, set := range append(experimenttest.Text(t), "train.steps="+steps, "train.checkpoint_every=50") {
		sets = append(sets, "  - \""+set+"\"\n")
	}
	file := filepath.Join(dir, "tiny.yaml")
	text := "base: " + base + "\nset:\n" + strings.Join(sets, "") + "series: [{name: a}, {name: b, set: [train.lr=1e-3]}, {name: c, set: [train.lr=1e-4]}]\nexperiment: {kind: variants}\n"
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	return file
}

// experimentFile is a file of an experiment's folder.
func experimentFile(t *testing.T, file, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(strings.TrimSuffix(file, ".yaml"), name))
	require.NoError(t, err)
	return string(text)
}

// TestExperimentPlanTrainReport: -plan trains nothing; the call trains and reports; -report makes
// the same files of the log alone.
func TestExperimentPlanTrainReport(t *testing.T) {
	file := writeExperiment(t, "4")
	got := callExperiment("-plan", "-jobs", "2", file)
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	assert.Regexp(t, `\na-seed0 +0 of 1 .* 64 +4 [^\n]*\nb-seed0 .* train.lr=1e-3\n`, got.Stdout)
	assert.Contains(t, got.Stdout, "3 of 3 runs are to be trained")
	got = callExperiment("-plan", "-only", "b", file)
	assert.Contains(t, got.Stdout, "\nb-seed0 ")
	assert.Contains(t, got.Stdout, "1 of 1 runs are to be trained", "of one series")
	callExperiment("-plan", "-only", "d", file).Refused(t, `only: want series of a, b, c, got "d"`)
	assert.NoDirExists(t, strings.TrimSuffix(file, ".yaml"))
	callExperiment("-report", file).Refused(t, "want complete runs of tiny in log.jsonl, besides those that look for rates, got none")

	got = callExperiment("-jobs", "2", file)
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	assert.Contains(t, got.Stdout, "\nb ")
	assert.Contains(t, got.Stderr, "note: 3/3 ")
	page, picture := experimentFile(t, file, "report.md"), experimentFile(t, file, "report.svg")
	assert.Contains(t, page, "Made of log.jsonl by `ours experiment -report "+filepath.ToSlash(file)+"`")

	folder := strings.TrimSuffix(file, ".yaml")
	for _, name := range []string{"runs", "report.md", "report.svg"} {
		require.NoError(t, os.RemoveAll(filepath.Join(folder, name)))
	}
	again := callExperiment("-report", file)
	require.Equal(t, commandline.ExitOK, again.Code, again.Stderr)
	assert.Equal(t, got.Stdout, again.Stdout)
	assert.Equal(t, []string{page, picture}, []string{experimentFile(t, file, "report.md"), experimentFile(t, file, "report.svg")})

	var report experiment.Report
	require.NoError(t, json.Unmarshal([]byte(callExperiment("-report", "-json", file).Stdout), &report))
	assert.Equal(t, []int{3, 3}, []int{report.Runs, report.Done})
	assert.Contains(t, callExperiment("-plan", file).Stdout, "0 of 3 runs are to be trained")
}

// TestAKilledExperimentGoesOn: after kill -9 it makes the runs that are not in the log, the
// interrupted one from its checkpoint, with the same losses.
func TestAKilledExperimentGoesOn(t *testing.T) {
	if testing.Short() {
		t.Skip("trains in processes of their own")
	}
	whole, killed := writeExperiment(t, "100"), writeExperiment(t, "100")
	require.Equal(t, commandline.ExitOK, callExperiment("-jobs", "1", whole).Code)
	log := filepath.Join(strings.TrimSuffix(killed, ".yaml"), "log.jsonl")
	c := clitest.Program(t, "experiment", "-jobs", "1", killed)
	require.NoError(t, c.Start())
	require.Eventually(t, func() bool { text, err := os.ReadFile(log); return err == nil && len(text) > 0 }, time.Minute, time.Millisecond)
	time.Sleep(20 * time.Millisecond) // into the next run
	require.NoError(t, c.Process.Kill())
	require.Error(t, c.Wait())
	before := experimentFile(t, killed, "log.jsonl")

	got := callExperiment("-jobs", "1", killed)
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	assert.NotContains(t, got.Stderr, "/3 a-seed0:", "the first run is not made again")
	assert.Contains(t, experimentFile(t, killed, "log.jsonl"), strings.TrimSpace(strings.Split(before, "\n")[0]), "its line stays")
	assert.Equal(t, lossesOf(t, whole), lossesOf(t, killed))
}

// lossesOf reads an experiment's log.
func lossesOf(t *testing.T, file string) map[string]float64 {
	all := map[string]float64{}
	for line := range strings.Lines(experimentFile(t, file, "log.jsonl")) {
		var r experiment.Record
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		all[r.Run] = float64(r.Loss)
	}
	require.Len(t, all, 3)
	return all
}

// lineFeeds is a text as it was committed, wherever it was checked out.
func lineFeeds(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

func TestThePageOfExperimentKeysIsUpToDate(t *testing.T) {
	committed, err := os.ReadFile("../docs/experiment-config.md")
	require.NoError(t, err)
	got := callExperiment("-keys", "-markdown")
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	require.Equal(t, got.Stdout, lineFeeds(string(committed)), "make it again: residua experiment -keys -markdown >docs/experiment-config.md")
	keys, err := experiment.Keys(experiment.Kinds(models.Standard()))
	require.NoError(t, err)
	for _, k := range keys {
		assert.True(t, k.Help != "" || k.Name == "experiment.kind", "%s: want help", k.Name)
	}
	assert.Contains(t, callExperiment("-keys").Stdout, "experiment.ranges")
}

func TestExperimentRefuses(t *testing.T) {
	file := writeExperiment(t, "4")
	bare := strings.TrimSuffix(file, filepath.Ext(file))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(bare, text, 0o644))
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "want the config of one experiment, or -keys, got none"},
		{[]string{file, file}, "want one CONFIG, got"},
		{[]string{"-keys", file}, "-keys: want no config with it, got"},
		{[]string{"-plan", "-report", file}, "want -plan or -report, got both"},
		{[]string{"-jobs", "-1", file}, "-jobs: want >= 0, got -1"},
		{[]string{"-stop-after", "-1s", file}, "-stop-after: want >= 0, got "},
		{[]string{file + "x"}, "want the YAML file of an experiment"},
		{[]string{bare}, "-out: want a folder, since CONFIG without its extension names none, got none for " + bare},
	} {
		callExperiment(c.args...).Refused(t, c.want)
	}
}
