// Package experimenttest helps the tests of experiments: a text to learn and tiny models.
package experimenttest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Tiny models of two streams, as sections of a run config.
const (
	Vector = "stream: {kind: vector, d_model: 8}, attention: {heads: 2, positions: alibi}, feedforward: {kind: gelu, hidden: 16}, layers: 2, seq: 8"
	Matrix = "stream: {kind: matrix, dk: 6, dv: 4, rank: 2}, attention: {positions: alibi}, feedforward: {kind: gelu, hidden: 16}, layers: 2, seq: 8"
)

// Text writes a text to learn and returns the overrides of a run config that name it.
func Text(t *testing.T) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "text.txt")
	var b strings.Builder
	for i := range 600 {
		fmt.Fprintf(&b, "func f%d(x int) int { return x*%d + %d }\n", i, i*i%97, i%13)
	}
	require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
	return []string{"data.source=files", "data.path=[" + filepath.ToSlash(file) + "]", "data.split=tail/5", "device.threads=1"}
}

// Config writes a run config of four steps of 16 tokens, and returns its file.
func Config(t *testing.T, dir, name, model string) string {
	t.Helper()
	file := filepath.Join(dir, name+".yaml")
	yaml := "model: {" + model + "}\ntrain: {batch: 2, steps: 4, lr: 1e-2, eval_tokens: 64}\n"
	require.NoError(t, os.WriteFile(file, []byte(yaml), 0o644))
	return file
}
