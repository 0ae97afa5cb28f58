package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/internal/cli/clitest"
	"github.com/residua-go/residua/models"
)

// text writes a text to learn and returns the overrides that name it.
func text(t *testing.T) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "text.txt")
	var b strings.Builder
	for i := range 600 {
		fmt.Fprintf(&b, "func f%d(x int) int { return x*%d + %d }\n", i, i*i%97, i%13)
	}
	require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
	return []string{"-set", "data.source=files", "-set", "data.path=[" + filepath.ToSlash(file) + "]", "-set", "data.split=tail/5", "-set", "device.threads=1"}
}

// tiny writes a tiny run config.
func tiny(t *testing.T, dir, name, model string) string {
	t.Helper()
	file := filepath.Join(dir, name+".yaml")
	yaml := "model: {" + model + "}\ntrain: {batch: 2, steps: 4, lr: 1e-2, eval_tokens: 64}\n"
	require.NoError(t, os.WriteFile(file, []byte(yaml), 0o644))
	return file
}

const (
	tinyVector = "stream: {kind: vector, d_model: 8}, attention: {heads: 2, positions: alibi}, feedforward: {kind: gelu, hidden: 16}, layers: 2, seq: 8"
	tinyMatrix = "stream: {kind: matrix, dk: 6, dv: 4, rank: 2}, attention: {positions: alibi}, feedforward: {kind: gelu, hidden: 16}, layers: 2, seq: 8"
)

func TestCompareRefuses(t *testing.T) {
	dir := t.TempDir()
	a, b := tiny(t, dir, "a", tinyVector), tiny(t, dir, "b", tinyMatrix)
	other := tiny(t, t.TempDir(), "a", tinyVector)
	masked := filepath.Join(dir, "masked.yaml")
	require.NoError(t, os.WriteFile(masked, []byte("model: {"+tinyVector+"}\ndata: {mask_documents: true}\ntrain: {batch: 2, steps: 4, lr: 1e-2}\n"), 0o644))
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "want one of run folders, -config, -coordcheck, -lrsweep, -cards, got 0 of them"},
		{[]string{"runs/a", "-config", a}, "got 2 of them"},
		{[]string{dir, "-budget", "tokens=1"}, "-budget: want nothing with run folders, where it changes nothing"},
		{[]string{dir}, "want a run's folder, as train writes it, got no config.yaml in it"},
		{[]string{filepath.Join(dir, "none")}, "want a run's folder"},
		{[]string{"-coordcheck", "-lrsweep"}, "got 2 of them"},
		{[]string{"-coordcheck", "-budget", "tokens=1"}, "-budget: want nothing with -coordcheck"},
		{[]string{"-config", a, "-widths", "1,2"}, "-widths: want nothing with -config"},
		{[]string{"-coordcheck", "-widths", "1"}, "-widths: want at least 2 widths, got 1"},
		{[]string{"-coordcheck", "-widths", "1,0"}, `-widths: want whole multiples of the base, as in 1,2,4, got "0"`},
		{[]string{"-coordcheck", "-widths", "2,2"}, "want each width once, got 2 twice"},
		{[]string{"-coordcheck", "-stream", "vektor"}, `-stream: want some of matrix, matrix-dv, matrix-rank, matrix-dk, vector, got "vektor"`},
		{[]string{"-coordcheck", "-lr", "1e-3,1e-2"}, "want one -lr and -seeds >= 1, got 2 rates"},
		{[]string{"-coordcheck", "-steps", "-1"}, "-steps: want >= 1, got -1"},
		{[]string{"-coordcheck", "-set", "model.attention.heads=3"}, "model.attention.heads"},
		{[]string{"-lrsweep", "-lr", "1e-3,-1"}, `-lr: want rates above 0, as in 1e-3,3e-3, got "-1"`},
		{[]string{"-lrsweep", "-lr", "1e-3,0.001"}, "-lr: want each rate once"},
		{[]string{"-config", a, "-budget", "steps=3"}, `-budget: want tokens=N or flops=N, as in tokens=1000000 or flops=1e14, got "steps=3"`},
		{[]string{"-config", a, "-budget", "tokens=0"}, "-budget: want tokens=N"},
		{[]string{"-config", a, "-x", "time"}, `-x: want tokens or flops, got "time"`},
		{[]string{"-config", a + "," + other}, `want a name for each, got "a" for`},
		{[]string{"-config", a + "," + masked}, "want the same data for all"},
		{[]string{"-config", filepath.Join(dir, "none.yaml")}, "none.yaml"},
		{[]string{"-config", b, "-set", "model.stream.rank=0"}, "model.stream.rank"},
		{[]string{"-cards", filepath.Join(dir, "m.md"), "-tokens", "0"}, "-tokens: want >= 1, got 0"},
		{[]string{"-cards", filepath.Join(dir, "m.md"), "-zoo", a}, "want what bench -zoo -json writes"},
		{[]string{"-cards", filepath.Join(dir, "m.md"), "-plain", "quickstart-transfomer"}, `got "quickstart-transfomer"`},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			clitest.Call(command(models.Standard()), append(c.args, "-out", filepath.Join(dir, "out"))...).Refused(t, c.want)
		})
	}
}

func TestHelp(t *testing.T) {
	got := clitest.Call(command(models.Standard()), "-h")
	assert.Equal(t, cli.ExitOK, got.Code)
	assert.Contains(t, got.Stdout, "-coordcheck")
}
