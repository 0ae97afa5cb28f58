package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/models"
)

// hello is a command of another module.
type hello struct {
	name  string
	Whom  string `yaml:"whom" arg:"WHOM" help:"greet <WHOM>"`
	Times int    `yaml:"times" min:"1" default:"1" help:"greet <N> times"`
}

func (h hello) Name() string { return h.name }

func (hello) Help() (summary, example string) { return "greet somebody", "hello you" }

func (h hello) Run(_ context.Context, zoo models.Zoo, stdout, _ io.Writer) error {
	if h.Whom == "" {
		return errors.New("want somebody to greet, got nobody")
	}
	_, err := fmt.Fprintln(stdout, h.Whom, h.Times, len(zoo.Streams()))
	return err
}

// noKind is a value that the program has no use for.
type noKind struct{}

func (noKind) Name() string { return "none" }

// TestKinds: a command of the zoo's runs with its flags and the zoo, and is listed as ours are. A
// value that is of no kind, and a second command of a name, are errors of every call but the help
// of one command.
func TestKinds(t *testing.T) {
	zoo := models.Zoo{}.WithKinds(models.Standard().Streams()[0], hello{name: "hello", Times: 3})
	for _, c := range []struct {
		zoo  models.Zoo
		args []string
		code int
		want string
	}{
		{zoo, []string{"-h"}, commandline.ExitOK, "\n  hello       greet somebody\n"},
		{zoo, []string{"hello", "-h"}, commandline.ExitOK, " hello you\n"},
		{zoo, []string{"hello", "you"}, commandline.ExitOK, "you 3 1\n"},
		{zoo, []string{"hello", "-times", "2", "you"}, commandline.ExitOK, "you 2 1\n"},
		{zoo, []string{"hello", "you", "-times", "0"}, commandline.ExitUsage, "-times: want >= 1, got 0"},
		{zoo, []string{"hello"}, commandline.ExitRun, "error: want somebody to greet, got nobody\n"},
		{zoo.WithKinds(hello{name: "train"}), []string{"hello", "you"}, commandline.ExitUsage, `want a command with a name of its own, got "train", of which there are 2`},
		{zoo.WithKinds(hello{name: "bench"}), []string{"bench"}, commandline.ExitUsage, `got "bench", of which there are 2`},
		{zoo.WithKinds(noKind{}), []string{"models"}, commandline.ExitUsage, "models.Zoo.WithKinds: want one of [stream.Design "},
		{zoo.WithKinds(noKind{}), []string{"hello"}, commandline.ExitUsage, `got cli.noKind, named "none", which has the methods of none`},
		{zoo.WithKinds(noKind{}), []string{"models", "-h"}, commandline.ExitOK, " models: "},
	} {
		var stdout, stderr bytes.Buffer
		assert.Equal(t, c.code, Main(c.zoo, c.args, &stdout, &stderr), c.args)
		assert.Contains(t, stdout.String()+stderr.String(), c.want, c.args)
	}
}

// TestAllKindsAreKnown: what any package takes from a zoo is a kind that the program knows.
func TestAllKindsAreKnown(t *testing.T) {
	err := checkKinds(models.Zoo{}.WithKinds(noKind{}), commandline.Suite{})
	require.Error(t, err)
	taken := map[string]bool{}
	require.NoError(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range regexp.MustCompile(`(?:KindsOf|addKinds)\[([\w.]{2,})\]`).FindAllSubmatch(text, -1) {
			name := string(found[1])
			if !strings.Contains(name, ".") {
				name = filepath.Base(filepath.Dir(path)) + "." + name
			}
			taken[name] = true
		}
		return err
	}))
	delete(taken, "models.Kind") // any value
	for name := range taken {
		assert.Contains(t, err.Error(), name)
	}
	assert.Greater(t, len(taken), 10)
}
