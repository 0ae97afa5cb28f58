package cli

import (
	"path/filepath"
	"testing"

	"github.com/residua-go/residua/internal/commandline/clitest"
	"github.com/residua-go/residua/models"
)

// TestModelAsAnArgument: every command that reads a model takes it as an argument, too, and says
// what there is if that does not exist.
func TestModelAsAnArgument(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range [][]string{
		{"generate", "gpt2", "-prompt", "a"}, {"generate", "-prompt", "a", "gpt2"}, {"generate", "-prompt", "a", "-checkpoint", "gpt2"},
		{"eval", "gpt2"}, {"serve", "gpt2"}, {"convert", "gpt2", "-format", "huggingface", "-out", filepath.Join(t.TempDir(), "out")},
		{"analyze", "lens", "gpt2"}, {"analyze", "ablate", "gpt2", "-blocks"},
	} {
		c, rest := suite(models.Standard(), "ours").Choose(args)
		got := clitest.Call(c, rest...)
		got.Refused(t, "-checkpoint: want zoo:quickstart, ")
		got.Refused(t, `, a run folder (train -config quickstart makes runs/quickstart), a step folder, a .safetensors file, or a folder of Hugging Face's that is on this machine, got gpt2, which does not exist`)
	}
	c, rest := suite(models.Standard(), "ours").Choose([]string{"eval", "-task", "hellaswag", "zoo:quickstart"})
	clitest.Call(c, rest...).Refused(t, `-task: want a file of one document a line, or heldout, got hellaswag, which does not exist`)
}
