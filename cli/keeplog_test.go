package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/internal/commandline/clitest"
)

// TestKeptWeightsOpen: commands read the weights that train.keep_log kept of a step as they read a
// checkpoint, with the run's tokenizer and validation text.
func TestKeptWeightsOpen(t *testing.T) {
	run := clitest.Train(t, "train.keep_log=true", "train.eval_every=0")
	for _, c := range []struct{ first, last []string }{
		{[]string{"generate", "-prompt", "line 7", "-tokens", "20", "-seed", "3"}, nil},
		{[]string{"eval", "-json"}, nil},
		{[]string{"eval", "-json", "-data", run.Text}, nil},
		{[]string{"analyze", "lens", "-json", "-prompt", "line 7"}, nil},
	} {
		said := map[string]string{}
		for _, path := range []string{run.Step, checkpoint.LogPath(run.Dir, 20), checkpoint.LogPath(run.Dir, 0)} {
			got := call(append(c.first, "-checkpoint", path)...)
			require.Zero(t, got.Code, "%s: %s", c.first, got.Stderr)
			said[path] = strings.ReplaceAll(got.Stdout, path, "PATH")
		}
		assert.Equal(t, said[run.Step], said[checkpoint.LogPath(run.Dir, 20)], "%s: the last step's", c.first)
		assert.NotEqual(t, said[run.Step], said[checkpoint.LogPath(run.Dir, 0)], "%s: the initial weights", c.first)
	}
}
