package cli

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestModelDevice(t *testing.T) {
	check := func(args ...string) error {
		var m Model
		flags := flag.NewFlagSet("test", flag.ContinueOnError)
		m.Flags(flags)
		require.NoError(t, flags.Parse(args))
		return m.checkDevice()
	}
	for _, good := range [][]string{nil, {"-precision", "fp32"}, {"-device", "cuda"}, {"-device", "cuda", "-precision", "bf16"}} {
		require.NoError(t, check(good...), "%v", good)
	}
	require.ErrorContains(t, check("-device", "tpu"), `-device: want cpu or cuda, got "tpu"`)
	require.ErrorContains(t, check("-precision", "bf16"), "add -device cuda")
	require.ErrorContains(t, check("-device", "cuda", "-precision", "fp8"), "-precision: want one of")
}
