//go:build !windows

package cli

// The commands are run as a person runs them: on a terminal, each in a process of its own.

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/commandline/clitest"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/models"
)

// tinyYAML is a run of a second or two.
const tinyYAML = `
model: {stream: {kind: matrix, dk: 6, dv: 8, rank: 3}, feedforward: {kind: gelu, hidden: 24}, layers: 1, seq: 16}
data: {source: files, path: [text.txt], split: tail/5}
train: {batch: 4, steps: 300, lr: 1e-2, eval_every: 100, checkpoint_every: 50, eval_tokens: 256}
sample: {prompt: "line ", tokens: 20}
`

// tinyExperiment is two runs of a moment.
const tinyExperiment = `
base: tiny.yaml
set: [train.steps=4]
seeds: 2
series: [{name: tiny}]
experiment: {kind: variants}
`

// barLine is a bar as the screen shows it, after the first step.
var barLine = regexp.MustCompile(`(?m)^step [1-9]\d*/\d+ \[[=>-]*\] .*elapsed`)

// anyBar is a bar of any width.
var anyBar = regexp.MustCompile(`(?m)^step \d+(/\d*)?( \[.*)?$`)

// workspace is a folder with a text and a config to train on.
type workspace struct{ dir string }

func newWorkspace(t *testing.T) workspace {
	if testing.Short() {
		t.Skip("runs every command")
	}
	h := workspace{dir: t.TempDir()}
	var text strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&text, "line %d says %d times nothing\n", i, i*i%97)
	}
	require.NoError(t, os.WriteFile(filepath.Join(h.dir, "text.txt"), []byte(text.String()), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(h.dir, "tiny.yaml"), []byte(tinyYAML), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(h.dir, "tiny-experiment.yaml"), []byte(tinyExperiment), 0o644))
	return h
}

func (h workspace) start(t *testing.T, columns int, name string, args ...string) *clitest.Terminal {
	return h.startWith(t, nil, columns, name, args...)
}

// startWith adds to the environment.
func (h workspace) startWith(t *testing.T, environment []string, columns int, name string, args ...string) *clitest.Terminal {
	c := clitest.Program(t, name, args...)
	c.Dir, c.Env = h.dir, append(c.Env, environment...)
	return clitest.StartTerminal(t, c, columns, 60)
}

func TestCommandsOnATerminal(t *testing.T) {
	t.Parallel()
	h := newWorkspace(t)
	code, screen := h.start(t, 120, "train", "-config", "tiny.yaml", "-out", "run").Wait()
	require.Zero(t, code, screen)

	t.Run("every command", func(t *testing.T) { everyCommand(t, h) })
	t.Run("serve", func(t *testing.T) { serveOnATerminal(t, h) })
	t.Run("bar", func(t *testing.T) { theBar(t, h) })
	t.Run("width", func(t *testing.T) { theWidth(t, h) })
	t.Run("Ctrl-C", func(t *testing.T) { ctrlC(t, h) })
	t.Run("Ctrl-C in the sample", func(t *testing.T) { ctrlCInSample(t, h) })
	t.Run("dumb terminal", func(t *testing.T) { dumbTerminal(t, h) })
	t.Run("NO_COLOR", func(t *testing.T) { noColor(t, h) })
	t.Run("names of files", func(t *testing.T) { namesOfFiles(t, h) })
}

// everyCommand: each command does what it is for where its output is a terminal. A command
// without a row here fails the test.
func everyCommand(t *testing.T, h workspace) {
	source, err := filepath.Abs("..")
	require.NoError(t, err)
	calls := map[string][][]string{
		"prepare":    {{"-tokenizer", "train:300", "-out", "shards", "text.txt"}, {"-h"}},
		"train":      {{"-config", "tiny.yaml", "-resume", "auto", "-out", "run"}, {"-h"}},
		"generate":   {{"-checkpoint", "run", "-prompt", "line ", "-tokens", "20"}, {"-h"}},
		"eval":       {{"-checkpoint", "run", "-tokens", "256"}, {"-h"}},
		"serve":      {{"-h"}}, // serveOnATerminal has the rest
		"models":     {nil, {"-residuals"}, {"-memory"}, {"-preset", "quickstart"}, {"-h"}},
		"compare":    {{"run", "run", "-out", "compared"}, {"-h"}},
		"tour":       {{"-h"}}, // takes a minute
		"report":     {{"run", "-out", "report.html"}, {"-h"}},
		"experiment": {{"-plan", "tiny-experiment.yaml"}, {"tiny-experiment.yaml"}, {"-report", "tiny-experiment.yaml"}, {"-keys"}, {"-h"}},
		"sae":        {{"-checkpoint", "run", "-sae", "sae", "-rows", "12", "-features", "20", "-k", "2", "-batch", "16"}, {"-h"}},
		"convert":    {{"-checkpoint", "run", "-format", "huggingface", "-out", "converted"}, {"-h"}},
		"bench":      {{"zoo", "-models", "quickstart-transformer", "-shapes", "byte", "-batch", "1", "-seq", "16", "-steps", "1", "-rounds", "1"}, {"-h"}},
		"new":        {{"stream", "decay", "-source", source}, {"-h"}},
		"analyze":    {{"attribute", "-checkpoint", "run", "-prompt", "line "}, {"lens", "-checkpoint", "run", "-prompt", "line "}, {"-h"}},
	}
	if longtest.Enabled() {
		calls["analyze"] = append(calls["analyze"], []string{"theory"})
	}
	all := suite(models.Standard(), "ours")
	require.Len(t, calls, len(all.Commands)+len(all.Suites), "a call of each command to try on a terminal")
	for _, c := range all.Commands {
		require.Contains(t, calls, c.Name)
	}
	for name, argss := range calls {
		for _, args := range argss {
			terminal := h.start(t, 160, name, args...)
			code, screen := terminal.Wait()
			assert.Zero(t, code, "%s %v:\n%s", name, args, screen)
			assert.NotEmpty(t, screen, "%s %v", name, args)
			assert.NotContains(t, terminal.Raw(), "internal error", "%s %v", name, args)
		}
	}
}

// serveOnATerminal: it says where it answers, and Ctrl-C ends it.
func serveOnATerminal(t *testing.T, h workspace) {
	terminal := h.start(t, 160, "serve", "-checkpoint", "run", "-listen", "127.0.0.1:0")
	terminal.Await("address", func(screen string) bool { return strings.Contains(screen, "serving run at http://127.0.0.1:") })
	terminal.Type("\x03")
	code, screen := terminal.Wait()
	assert.Zero(t, code, screen)
	assert.NotContains(t, terminal.Raw(), "internal error")
}

// theBar: one bar, redrawn in its place, with news above it in the order in which they came.
func theBar(t *testing.T, h workspace) {
	terminal := h.start(t, 110, "train", "-config", "tiny.yaml", "-out", "bar", "-set", "train.steps=2000")
	first := terminal.Await("bar", func(screen string) bool { return strings.Contains(screen, "tokens/s") && barLine.MatchString(screen) })
	terminal.Await("bar that has moved", func(screen string) bool {
		return barLine.MatchString(screen) && barLine.FindString(screen) != barLine.FindString(first)
	})
	code, screen := terminal.Wait()
	require.Zero(t, code, screen)
	assert.Len(t, barLine.FindAllString(screen, -1), 1, "one bar, redrawn:\n%s", screen)
	order := []string{"parameters", "step 100  validation loss", "step 2000  validation loss", "step 2000/2000 [==", "trained 2000 steps", "sample:\nline ", "files:"}
	at := -1
	for _, text := range order {
		next := strings.Index(screen, text)
		require.Greater(t, next, at, "%q after what stands before it in %q:\n%s", text, order, screen)
		at = next
	}
}

// theWidth: the bar fits a terminal that becomes narrow, and a narrow one from the start.
func theWidth(t *testing.T, h workspace) {
	for _, columns := range []int{40, 24, 8} {
		terminal := h.start(t, 110, "train", "-config", "tiny.yaml", "-out", fmt.Sprint("width", columns), "-set", "train={steps: 100000, eval_every: 0}")
		terminal.Await("bar", barLine.MatchString)
		terminal.Resize(columns, 60)
		terminal.Await("narrow bar", func(screen string) bool {
			lines := strings.Split(screen, "\n")
			last := lines[len(lines)-1]
			return strings.HasPrefix(last, "step ") && len([]rune(last)) <= columns
		})
		assert.Len(t, anyBar.FindAllString(terminal.Reflowed(), -1), 1, "nothing stale:\n%s", terminal.Reflowed())
		terminal.Type("\x03")
		code, screen := terminal.Wait()
		require.Zero(t, code, screen)
		assert.Len(t, anyBar.FindAllString(terminal.Reflowed(), -1), 1, "nothing stale:\n%s", terminal.Reflowed())
	}
	terminal := h.start(t, 30, "train", "-config", "tiny.yaml", "-out", "narrow")
	code, screen := terminal.Wait()
	require.Zero(t, code, screen)
	assert.Contains(t, screen, "step 300/300 [==")
	assert.Len(t, regexp.MustCompile(`(?m)^step \d+/300`).FindAllString(screen, -1), 1, screen)
}

// ctrlC: one Ctrl-C saves the last whole step, says how to go on, and exits 0; the run goes on.
func ctrlC(t *testing.T, h workspace) {
	const columns = 200 // the longest message is one line, whatever a busy machine adds to it
	terminal := h.start(t, columns, "train", "-config", "tiny.yaml", "-out", "stopped", "-set", "train.steps=100000")
	terminal.Await("bar", barLine.MatchString)
	terminal.Type("\x03")
	code, screen := terminal.Wait()
	require.Zero(t, code, screen)
	assert.Regexp(t, `(?s)interrupted: the step under way stops between two operations.*; saving the last whole step.*; Ctrl-C again ends at once`, screen)
	assert.Contains(t, screen, "go on with -resume auto")
	assert.Len(t, barLine.FindAllString(screen, -1), 1, "one bar, redrawn:\n%s", screen)

	terminal = h.start(t, columns, "train", "-config", "tiny.yaml", "-out", "stopped", "-set", "train.steps=100000", "-resume", "auto")
	terminal.Await("bar", barLine.MatchString)
	terminal.Type("\x03")
	code, screen = terminal.Wait()
	require.Zero(t, code, screen)
	assert.Contains(t, screen, "resumed from")
}

// ctrlCInSample: a Ctrl-C while the sample is written ends its line; the run is saved by then.
func ctrlCInSample(t *testing.T, h workspace) {
	terminal := h.start(t, 110, "train", "-config", "tiny.yaml", "-out", "sampled", "-set", "train.steps=60", "-set", "sample.tokens=1000000")
	terminal.Await("sample", func(string) bool { return strings.Contains(terminal.Raw(), "sample:\r\nline ") })
	terminal.Type("\x03")
	code, screen := terminal.Wait()
	require.Zero(t, code, screen)
	assert.Contains(t, screen, "\nfiles:\n", "on a line of its own")
}

// dumbTerminal: where a line cannot be drawn again there are plain lines and no control
// sequence.
func dumbTerminal(t *testing.T, h workspace) {
	terminal := h.startWith(t, []string{"TERM=dumb"}, 110, "train", "-config", "tiny.yaml", "-out", "dumb")
	code, screen := terminal.Wait()
	require.Zero(t, code, screen)
	assert.Contains(t, screen, "step 1/300  loss ")
	assert.Contains(t, screen, "step 300/300  loss ")
	assert.NotContains(t, terminal.Raw(), "\x1b")
}

// noColor: nobody gets colours who asks for none.
func noColor(t *testing.T, h workspace) {
	terminal := h.startWith(t, []string{"NO_COLOR=1"}, 110, "train", "-config", "tiny.yaml", "-out", "plain")
	code, screen := terminal.Wait()
	require.Zero(t, code, screen)
	assert.True(t, strings.Contains(screen, "step 300/300 [="), screen)
	assert.NotRegexp(t, "\x1b\\[[0-9;]*m", terminal.Raw())
}

// namesOfFiles: a terminal does not obey the name of a file that a command prints.
func namesOfFiles(t *testing.T, h workspace) {
	const name = "\x1b]0;obeyed\x07"
	for _, args := range [][]string{
		{"train", "-config", "tiny.yaml", "-out", "run" + name},
		{"train", "-config", "tiny.yaml", "-out", "run" + name, "-resume", "auto", "-json"},
		{"train", "-config", "tiny.yaml", "-out", "run" + name},
		{"eval", "-tokens", "256", "run", "run" + name},
		{"convert", "-checkpoint", "run" + name, "-format", "huggingface", "-out", "converted" + name},
		{"compare", "run", "run" + name, "-out", "compared" + name},
		{"analyze", "attribute", "-checkpoint", "run" + name, "-prompt", "line ", "-top", "1", "-out", "page" + name},
		{"generate", "-checkpoint", "none" + name},
	} {
		terminal := h.start(t, 160, args[0], args[1:]...)
		_, screen := terminal.Wait()
		assert.NotContains(t, terminal.Raw(), name, args)
		assert.Contains(t, strings.ReplaceAll(screen, "\n", ""), `obeyed\u0007`, args)
	}
}
