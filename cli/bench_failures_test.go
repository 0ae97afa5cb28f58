package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/experiment/bench"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/models"
)

// benchWithPyTorch is the arguments of a call of the command on tiny models, compared with the fake
// PyTorch, that writes into a file.
func benchWithPyTorch(t *testing.T, file string) []string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	t.Setenv(fakePython, fmt.Sprint(oursParameters(t, "byte-rmt")))
	return []string{"-models", "byte-rmt", "-pytorch=" + self, "-script", "../experiment/bench/pytorch.py", "-out", file}
}

// keptReport reads what a call has left in its file.
func keptReport(t *testing.T, file string) (r bench.Report) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &r))
	return r
}

// TestBenchPyTorchThatFails: the error has the last lines of its standard error; the tables, the
// picture and the file have all else.
func TestBenchPyTorchThatFails(t *testing.T) {
	file, picture := filepath.Join(t.TempDir(), "bench.json"), filepath.Join(t.TempDir(), "speed.svg")
	t.Setenv(fakeFailure, "--compile")
	got := benchTiny(append(benchWithPyTorch(t, file), "-svg", picture)...)
	assert.Equal(t, commandline.ExitRun, got.Code)
	assert.Regexp(t, `(?m)^error: torch.compile byte-rmt ended \(exit status 3\): (.* Using CUDA build; )?Traceback .*; RuntimeError: no C\+\+ compiler$`, got.Stderr)
	assert.Regexp(t, `(?m)^byte-rmt +1 x 8 +`, got.Stdout, "the models")
	assert.Regexp(t, `(?m)^byte-rmt +Residua +\d+ .*\n +PyTorch eager +16 +500 `, got.Stdout)
	assert.NotContains(t, got.Stdout, "torch.compile")
	r := keptReport(t, file)
	assert.Len(t, r.Models, 1)
	require.Len(t, r.PyTorch, 1)
	require.Len(t, r.PyTorch[0].Baselines, 1)
	assert.Equal(t, bench.Eager, r.PyTorch[0].Baselines[0].Mode)
	require.Len(t, r.Failures, 1)
	assert.Equal(t, "torch.compile byte-rmt", r.Failures[0].Name)
	text, err := os.ReadFile(picture)
	require.NoError(t, err)
	assert.Contains(t, string(text), "PyTorch eager")
}

// cancelsAt cancels a call once its standard error has a text.
type cancelsAt struct {
	bytes.Buffer
	mutex  sync.Mutex
	at     string
	cancel func()
}

func (i *cancelsAt) Write(b []byte) (int, error) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	n, err := i.Buffer.Write(b)
	if strings.Contains(i.String(), i.at) {
		i.cancel()
	}
	return n, err
}

// TestBenchInterrupted: the rows that were measured are printed, and are in the file.
func TestBenchInterrupted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bench.json")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stderr := &cancelsAt{at: "byte-transformer compared with other frameworks: round 1 of 1", cancel: cancel}
	var stdout bytes.Buffer
	args := append([]string{"bench", "models", "-batch", "1", "-seq", "8", "-steps", "1", "-rounds", "1", "-threads", "1"}, benchWithPyTorch(t, file)...)
	args = append(args, "-models", "byte-rmt,byte-transformer")
	command, args := suite(models.Standard(), "ours").Choose(args)
	code := commandline.Execute(ctx, command, args, commandline.Output{Stdout: &stdout, Stderr: stderr})
	assert.Equal(t, commandline.ExitRun, code)
	assert.True(t, strings.HasSuffix(stderr.String(), "note: what was measured before that is in "+file+"\nerror: ours bench models: interrupted\n"), stderr.String())
	assert.Regexp(t, `(?m)^byte-rmt +1 x 8 +`, stdout.String())
	r := keptReport(t, file)
	assert.Len(t, r.Models, 1)
	assert.Len(t, r.PyTorch, 1)
	assert.Empty(t, r.Failures)
}
