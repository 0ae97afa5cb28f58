// Package clitest helps to test commands: it calls them inside the test's process and trains a
// model to call them with.
package clitest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer"
)

// Outcome is what a call wrote and returned.
type Outcome struct {
	Code           int
	Stdout, Stderr string
}

// Call runs a command with arguments.
func Call(c commandline.Command, args ...string) Outcome {
	return CallWith(context.Background(), c, args...)
}

// CallWith runs a command with a context that may interrupt it.
func CallWith(ctx context.Context, c commandline.Command, args ...string) Outcome {
	var stdout, stderr bytes.Buffer
	code := commandline.Execute(ctx, c, args, commandline.Output{Stdout: &stdout, Stderr: &stderr})
	return Outcome{code, stdout.String(), stderr.String()}
}

// Refused checks that a call was refused as wrong: exit code 2, nothing on standard output, and a
// one-line error that contains want.
func (o Outcome) Refused(t *testing.T, want string) {
	t.Helper()
	assert.Equal(t, commandline.ExitUsage, o.Code, o.Stderr)
	assert.Empty(t, o.Stdout)
	assert.Contains(t, o.Stderr, want)
	assert.Equal(t, 1, strings.Count(o.Stderr, "\n"), "%q", o.Stderr)
	assert.True(t, strings.HasPrefix(o.Stderr, "error: "), "%q", o.Stderr)
}

// tinyYAML configures a run that takes a second.
const tinyYAML = `
seed: 7
model: {stream: {kind: matrix, dk: 6, dv: 8, rank: 3}, attention: {positions: alibi}, feedforward: {kind: gelu, hidden: 24}, layers: 1, seq: 16, init: lecun}
data: {source: files, split: tail/5}
train: {batch: 4, steps: 20, lr: 1e-2, eval_every: 10, checkpoint_every: 10, keep: 2, eval_tokens: 200}
device: {threads: 1}
`

// Run is a finished run.
type Run struct {
	Dir    string // the run folder
	Step   string // its newest step folder
	Model  string // the model file in the step folder
	Text   string // the file it learned from
	Result *trainer.Result
}

// Train trains a tiny byte-level model in temporary folders. sets override keys of its config.
func Train(t *testing.T, sets ...string) Run {
	t.Helper()
	dir := t.TempDir()
	r := Run{Dir: filepath.Join(dir, "run"), Text: filepath.Join(dir, "text.txt")}
	var text strings.Builder
	for i := range 300 {
		fmt.Fprintf(&text, "line %d says %d times nothing\n", i, i*i%97)
	}
	require.NoError(t, os.WriteFile(r.Text, []byte(text.String()), 0o644))
	run, _, err := runconfig.Parse(models.Standard(), "tiny.yaml", []byte(tinyYAML), append([]string{"data.path=[" + r.Text + "]", "out=" + r.Dir}, sets...))
	require.NoError(t, err)
	training, err := trainer.Open(context.Background(), run, trainer.Options{Resume: trainer.ResumeNone})
	require.NoError(t, err)
	defer training.Close()
	r.Result, err = training.Run(context.Background())
	require.NoError(t, err)
	r.Step = r.Result.Checkpoint
	r.Model = filepath.Join(r.Step, "model.safetensors")
	return r
}

// Damage flips a bit in the middle of a copy of a file and returns the copy.
func Damage(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	content[len(content)/2] ^= 1
	copied := filepath.Join(t.TempDir(), filepath.Base(path))
	require.NoError(t, os.WriteFile(copied, content, 0o644))
	return copied
}
