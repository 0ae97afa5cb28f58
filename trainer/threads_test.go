package trainer_test

import (
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/trainer"
)

// TestFewerCoresThanThreadsChangeNoBit: the number of threads says how sums are divided,
// whatever they run on.
func TestFewerCoresThanThreadsChangeNoBit(t *testing.T) {
	text := corpus(t)
	run := func(cores int) []string {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
		out := filepath.Join(t.TempDir(), "run")
		train(t, tiny(t, text, out, "train.steps=4", "device.threads=3"), trainer.Options{})
		return losses(t, out)
	}
	want := run(3)
	require.Len(t, want, 4)
	require.Equal(t, want, run(1))
}
