package commandline

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

func TestModelDevice(t *testing.T) {
	check := func(args ...string) error {
		var m Model
		c := Command{Name: "test", Settings: &m, Run: func(context.Context, Output) error { return CheckDevice(m.Device, m.Precision) }}
		return c.execute(t.Context(), args, Output{})
	}
	for _, good := range [][]string{nil, {"-precision", "fp32"}, {"-precision", "bf16"}, {"-device", "cuda"}, {"-device", "cuda", "-precision", "bf16"}} {
		require.NoError(t, check(good...), "%v", good)
	}
	require.ErrorContains(t, check("-device", "tpu"), `-device: want cpu, cuda or, of several GPUs, cuda:1, got "tpu"`)
	require.ErrorContains(t, check("-precision", "tf32"), "add -device cuda")
	require.ErrorContains(t, check("-device", "cuda", "-precision", "fp8"), "-precision: want one of")
}

// TestModelWithoutTokenizer: an imported model without a tokenizer works with commands that take
// ids, and is refused in one line by commands that need text.
func TestModelWithoutTokenizer(t *testing.T) {
	var stderr strings.Builder
	out := Output{Stdout: io.Discard, Stderr: &stderr}
	m := Model{Checkpoint: Checkpoint{Zoo: models.Standard(), Path: "../../testdata/reference/gpt2-hf"}, Place: Place{Device: graph.CPU}}
	p, tokenizer, err := m.OpenIDs(out)
	require.NoError(t, err)
	require.Nil(t, tokenizer)
	require.Equal(t, 113, p.Spec.Vocab)
	require.Contains(t, stderr.String(), "warning: ")
	_, _, err = m.Open(out)
	require.ErrorContains(t, err, "want a model with a tokenizer, got one of 113 token ids without")
}
