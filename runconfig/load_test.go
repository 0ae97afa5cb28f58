package runconfig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/configs"
)

func TestEveryBuiltInConfigIsFoundByNameInAnyFolder(t *testing.T) {
	var names []string
	for _, pattern := range []string{"../configs/*.yaml", "../configs/*/*.yaml"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range found {
			names = append(names, strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(file), "../configs/"), ".yaml"))
		}
	}
	assert.ElementsMatch(t, names, configs.Names())
	t.Chdir(t.TempDir())
	for _, name := range configs.Names() {
		run, _, err := Load(zoo, name, nil)
		require.NoError(t, err)
		want := strings.ReplaceAll(name, "/", "-")
		assert.Equal(t, want, run.Name)
		assert.Equal(t, filepath.Join("runs", want), run.Out)
	}
}

// TestEveryDesignHasAConfig: each stream and each feed-forward of the zoo has a built-in config.
func TestEveryDesignHasAConfig(t *testing.T) {
	kinds := map[string]bool{}
	for _, name := range configs.Names() {
		if strings.Contains(name, "/") {
			continue
		}
		run, _, err := Load(zoo, name, nil)
		require.NoError(t, err)
		kinds["stream "+run.Model.Stream.Name()] = true
		if f := run.Model.FeedForward; f != nil {
			kinds["feed-forward "+f.Name()] = true
		}
	}
	for _, d := range zoo.Streams() {
		assert.True(t, kinds["stream "+d.Name()], "%s: want a file in configs", d.Name())
	}
	for _, d := range zoo.FeedForwards() {
		assert.True(t, kinds["feed-forward "+d.Name()], "%s: want a file in configs", d.Name())
	}
}

func TestErrorsInABuiltInConfigNameItsFileAndLine(t *testing.T) {
	_, _, err := Load(zoo, "quickstart", []string{"train.schedule=constant", "train.steps=0"})
	requireAt(t, err, "-set", "train.steps")
	_, _, err = Load(zoo, "quickstart", []string{"train.lr=1e-3", "train.min_lr=1"})
	requireAt(t, err, "-set", "train.min_lr")
	run, where, err := Load(zoo, "quickstart", nil)
	require.NoError(t, err)
	assert.Equal(t, "configs/quickstart.yaml:8", where.Of("train.lr"))
	assert.Equal(t, 5.6e-3, run.Train.LR)
}

func TestAFileComesBeforeABuiltInConfigOfItsName(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("moe", 0o755))
	run, _, err := Load(zoo, "moe", nil)
	require.NoError(t, err)
	assert.Equal(t, "quickstart-moe", run.Model.Preset, "a folder is no config")
	require.NoError(t, os.WriteFile("quickstart", []byte(smallYAML), 0o644))
	run, _, err = Load(zoo, "quickstart", nil)
	require.NoError(t, err)
	assert.Equal(t, "vector", run.Model.Stream.Name())
}

func TestAMissingConfigIsAnErrorThatHelps(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("folder", 0o755))
	for file, want := range map[string][]string{
		"quikstart":               {`want a YAML file or a built-in config, got "quikstart"; did you mean quickstart? (train -configs lists them)`},
		"zzzzzz":                  {`got "zzzzzz" (train -configs lists them)`},
		"configs/quickstart.yaml": {"want a YAML file", "-config quickstart"},
		"quickstart.yaml":         {"want a YAML file", "-config quickstart"},

		"configs/paper/table9-rmt-46m.yaml": {"want a YAML file", "-config paper/table9-rmt-46m"},
		"paper/table9-rmt-45m":              {"want a YAML file", "paper/table9-rmt-45m"},
		"other/none.yaml":                   {"want a YAML file", "other/none.yaml"},
		"folder":                            {"want a YAML file, got the folder folder"},
		"":                                  {"want a YAML file"},
	} {
		_, _, err := Load(zoo, file, nil)
		require.Error(t, err, file)
		for _, part := range want {
			assert.ErrorContains(t, err, part)
		}
		assert.NotContains(t, err.Error(), "\n")
	}
}

func TestAConfigOfAnotherKindIsNamed(t *testing.T) {
	for content, want := range map[string]string{
		"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n": "it is a Git LFS pointer to the file that is wanted: run git lfs pull",
		"PK\x03\x04\x14\x00": "it is a zip archive",
	} {
		path := filepath.Join(t.TempDir(), "x.yaml")
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		_, _, err := Load(zoo, path, nil)
		require.ErrorContains(t, err, "config: want a YAML file, got "+path+": "+want)
	}
}

func TestALongFileIsRefusedAfterABoundedRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "long.yaml")
	f, err := os.Create(file)
	require.NoError(t, err)
	require.NoError(t, f.Truncate(1<<30), "a hole: no disk has to hold it")
	require.NoError(t, f.Close())
	_, _, err = Load(zoo, file, nil)
	assert.EqualError(t, err, file+": want at most 65536 bytes of YAML, got more")
}
