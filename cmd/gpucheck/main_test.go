package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWrongCalls(t *testing.T) {
	for _, args := range [][]string{nil, {"look"}, {"compare", "a"}, {"report", "-x", "dir"}, {"emulate", "now"}} {
		err := run(args, &bytes.Buffer{})
		require.ErrorContains(t, err, "want one of gpucheck compare")
	}
}

// TestTasks: runs are compared as the flags say.
func TestTasks(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	for _, folder := range []string{dir, other} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "metrics.jsonl"), []byte(`{"step":1,"loss":3,"grad_norm":1}`+"\n"), 0o644))
	}
	var out bytes.Buffer
	require.NoError(t, run([]string{"compare", "-name", "a copy", "-tolerance", "1e-3", dir, other}, &out))
	assert.Contains(t, out.String(), "figure: a copy: loss 3.0000 to 3.0000 in 1 steps")
	require.NoError(t, os.WriteFile(filepath.Join(other, "metrics.jsonl"), []byte(`{"step":1,"loss":3.1,"grad_norm":1}`+"\n"), 0o644))
	require.ErrorContains(t, run([]string{"compare", "-tolerance", "1e-3", dir, other}, &out), "want losses within 1e-03")
}
