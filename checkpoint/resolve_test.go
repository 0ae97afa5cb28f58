package checkpoint

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestResolve(t *testing.T) {
	runDir := runWith(t, 100, 200)
	step := StepPath(runDir, 100)
	alone := filepath.Join(t.TempDir(), "alone.safetensors")
	require.NoError(t, WriteModel(alone, smallModel(), map[string]string{MetadataConfig: smallConfig}))
	moved := filepath.Join(t.TempDir(), "moved")
	require.NoError(t, os.CopyFS(moved, os.DirFS(step)))
	run := filepath.Base(runDir)
	cases := []struct {
		path string
		want Source
		name string
	}{
		{runDir, Source{Kind: kindRun, ModelPath: filepath.Join(StepPath(runDir, 200), ModelFile), StepDir: StepPath(runDir, 200), RunDir: runDir}, run},
		{runDir + "/", Source{Kind: kindRun, ModelPath: filepath.Join(StepPath(runDir, 200), ModelFile), StepDir: StepPath(runDir, 200), RunDir: runDir}, run},
		{step, Source{Kind: kindStep, ModelPath: filepath.Join(step, ModelFile), StepDir: step, RunDir: runDir}, run},
		{filepath.Join(step, ModelFile), Source{Kind: KindFile, ModelPath: filepath.Join(step, ModelFile), StepDir: step, RunDir: runDir}, run},
		{moved, Source{Kind: kindStep, ModelPath: filepath.Join(moved, ModelFile), StepDir: moved}, "moved"},
		{alone, Source{Kind: KindFile, ModelPath: alone}, "alone"},
	}
	for _, c := range cases {
		got, err := Resolve(c.path)
		require.NoError(t, err)
		assert.Equal(t, c.want, got, c.path)
		assert.Equal(t, c.name, got.Name(), c.path)
		_, err = ReadModel(got.ModelPath)
		require.NoError(t, err)
	}
}

// A folder of another program is unknown; a step folder is recognised whatever else is in it.
func TestResolveBesidesOthers(t *testing.T) {
	dir := filepath.Join("..", "testdata", "reference", "gpt2-hf")
	_, err := Resolve(dir)
	assert.ErrorIs(t, err, ErrUnknown)
	assert.False(t, IsRun(dir))
	runDir := runWith(t, 100)
	for _, ours := range []string{runDir, StepPath(runDir, 100)} {
		require.NoError(t, os.WriteFile(filepath.Join(ours, HuggingFaceConfig), []byte("{}"), 0o600))
		assert.True(t, IsRun(ours))
		got, err := Resolve(ours)
		require.NoError(t, err)
		assert.Equal(t, StepPath(runDir, 100), got.StepDir)
	}
}

func TestResolveFromInsideAStepFolder(t *testing.T) {
	runDir := runWith(t, 100)
	t.Chdir(StepPath(runDir, 100))
	got, err := Resolve(".")
	require.NoError(t, err)
	assert.Equal(t, Source{Kind: kindStep, ModelPath: ModelFile, StepDir: ".", RunDir: filepath.Join("..", "..")}, got)
	assert.FileExists(t, filepath.Join(got.RunDir, latestFile))
}

// TestResolveALinkedStep: a link to a step folder leads to the step's run.
func TestResolveALinkedStep(t *testing.T) {
	runDir, err := filepath.EvalSymlinks(runWith(t, 100))
	require.NoError(t, err)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(StepPath(runDir, 100), link); err != nil {
		t.Skip("no links here:", err)
	}
	got, err := Resolve(link)
	require.NoError(t, err)
	assert.Equal(t, Source{Kind: kindStep, ModelPath: filepath.Join(link, ModelFile), StepDir: link, RunDir: runDir}, got)
}

// If the newest model of a run is damaged, Resolve finds an older one and says so; damaged moments
// do not matter.
func TestResolvePassesOverDamagedModels(t *testing.T) {
	runDir := runWith(t, 100, 200, 300)
	tamper(t, StepPath(runDir, 300), ModelFile, flipLastByte)
	tamper(t, StepPath(runDir, 200), OptimizerFile, flipLastByte)
	got, err := Resolve(runDir)
	require.NoError(t, err)
	assert.Equal(t, StepPath(runDir, 200), got.StepDir)
	require.Len(t, got.Warnings, 2)
	assert.Contains(t, got.Warnings[0], filepath.Join(StepPath(runDir, 300), ModelFile))
}

func TestResolveRefuses(t *testing.T) {
	dir := t.TempDir()
	_, err := Resolve(filepath.Join(dir, "missing"))
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorContains(t, err, filepath.Join(dir, "missing"))
	_, err = Resolve(dir)
	assert.ErrorContains(t, err, "neither a run folder (with checkpoints/) nor a step folder (with state.json)")
	torn := filepath.Join(t.TempDir(), "torn")
	require.NoError(t, os.CopyFS(torn, os.DirFS(StepPath(runWith(t, 100), 100))))
	require.NoError(t, os.Remove(filepath.Join(torn, StateFile)))
	_, err = Resolve(torn)
	assert.ErrorContains(t, err, "has a model.safetensors but no state.json")
	require.NoError(t, os.Mkdir(stepsOf(dir), 0o700))
	_, err = Resolve(dir)
	assert.ErrorIs(t, err, ErrNone)
}
