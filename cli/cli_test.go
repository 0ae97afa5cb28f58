package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/commandline/clitest"
	"github.com/residua-go/residua/models"
)

// call runs a program called ours.
func call(args ...string) clitest.Outcome { return callWith(context.Background(), args...) }

// callWith runs it with a context that may interrupt it.
func callWith(ctx context.Context, args ...string) clitest.Outcome {
	command, rest := suite(models.Standard(), "ours").Choose(args)
	return clitest.CallWith(ctx, command, rest...)
}

// TestHelpIsOfTheProgram: every command's help and errors call the program by its own name,
// and never as this module's commands are called.
func TestHelpIsOfTheProgram(t *testing.T) {
	for _, args := range []string{"", "train", "eval", "generate", "serve", "models", "bench", "compare", "experiment", "convert", "analyze", "analyze attribute", "analyze theory"} {
		got := call(append(strings.Fields(args), "-h")...)
		require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
		name := strings.TrimSpace("ours " + args)
		assert.Contains(t, got.Stdout, "\n  "+name+" ", "an example")
		assert.Contains(t, got.Stdout, "\n"+name+": ", "the summary")
		assert.NotContains(t, got.Stdout, "go run")
	}
	call("trian").Refused(t, `unknown command "trian"; did you mean train? (ours -h lists all commands)`)
	call("train", "-confg", "x").Refused(t, "(ours train -h lists all flags)")
	call("analyze", "lense").Refused(t, "(ours analyze -h lists all commands)")
	call("analyze", "lens", "-chekpoint", "x").Refused(t, "(ours analyze lens -h lists all flags)")
	call("train", "-config", "quickstart", "-set", "model.preset=quickstrat").Refused(t, "did you mean")
}

// TestHelpSaysUnits: a flag of a time, of memory or of a loss says its unit, and how it is written.
func TestHelpSaysUnits(t *testing.T) {
	for args, want := range map[string][]string{
		"serve":      {"TIME, as in 90s", "TIME, as in 30s", "N bytes"},
		"generate":   {"in nats", "N tokens"},
		"experiment": {"TIME, as in 3h"},
		"tour":       {"TIME, as in 1h"},
		"models":     {"GB gigabytes of 1e9 bytes", "in MB of 1e6 bytes", "N sequences"},
	} {
		help := call(strings.Fields(args + " -h")...).Stdout
		for _, text := range want {
			assert.Contains(t, help, text, args)
		}
		for _, line := range strings.Split(help, "\n") {
			if strings.HasPrefix(line, "  -") && strings.Contains(line, " TIME ") {
				assert.Contains(t, line, "as in", args)
			}
		}
	}
}

// TestMainListsTheZoo: the presets of the zoo that it was given, and no others.
func TestMainListsTheZoo(t *testing.T) {
	preset, err := models.Standard().Preset("quickstart")
	require.NoError(t, err)
	preset.Name = "mine"
	var stdout, stderr bytes.Buffer
	require.Equal(t, 0, Main(models.Standard().WithPresets(preset), []string{"models"}, &stdout, &stderr), stderr.String())
	assert.Contains(t, stdout.String(), "\nmine ")
	stdout.Reset()
	require.Equal(t, 0, Main(models.Zoo{}.With(preset.Config.Stream, preset), []string{"models"}, &stdout, &stderr), stderr.String())
	assert.NotContains(t, stdout.String(), "quickstart")
}
