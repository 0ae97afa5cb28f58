package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/experiment"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/commandline/clitest"
	"github.com/residua-go/residua/internal/experimenttest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer"
)

// callCompare calls compare.
func callCompare(args ...string) clitest.Outcome {
	return call(append([]string{"compare"}, args...)...)
}

// trainedToCompare trains a tiny run into a folder, and returns it.
func trainedToCompare(t *testing.T, folder, lr string) string {
	t.Helper()
	run, _, err := runconfig.Parse(models.Standard(), "x.yaml", []byte("model: {"+experimenttest.Vector+"}\ntrain: {batch: 2, steps: 2, lr: "+lr+", eval_tokens: 64}\n"), append(experimenttest.Text(t), "out="+filepath.ToSlash(folder)))
	require.NoError(t, err)
	training, err := trainer.Open(t.Context(), run, trainer.Options{})
	require.NoError(t, err)
	defer training.Close()
	_, err = training.Run(t.Context())
	require.NoError(t, err)
	return folder
}

// TestCompareRuns: finished runs give a table and a picture, or JSON; -svg or -out says where the
// picture goes.
func TestCompareRuns(t *testing.T) {
	dir := t.TempDir()
	a, b := trainedToCompare(t, filepath.Join(dir, "a"), "1e-2"), trainedToCompare(t, filepath.Join(dir, "b"), "1e-3")
	out, svg := filepath.Join(dir, "out"), filepath.Join(dir, "new", "loss.svg")
	got := callCompare(a, "-x", "flops", "-svg", svg, b)
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	assert.Contains(t, got.Stderr, "another data section", "each has a text of its own")
	assert.Regexp(t, `^run +parameters .*\n[- ]+\n\S+/a +0\.01M +0\.0 +32 +0\.01 .*\n\S+/b +0\.01M +0\.0 +32 +0\.001 .*\nfiles:\n  `, got.Stdout)
	picture, err := os.ReadFile(svg)
	require.NoError(t, err)
	assert.Contains(t, string(picture), "TFLOP")

	got = callCompare(a, "-json", "-out", out)
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	var all []experiment.Run
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &all))
	require.Len(t, all, 1)
	assert.Equal(t, []any{filepath.ToSlash(a), 1e-2}, []any{all[0].Folder, all[0].Rate})
	pictures, err := filepath.Glob(filepath.Join(out, "*.svg"))
	require.NoError(t, err)
	assert.Len(t, pictures, 1)
}

// TestComparisonsKeepTheirPictures: another comparison in the same folder writes another picture,
// even of runs of the same names.
func TestComparisonsKeepTheirPictures(t *testing.T) {
	out := t.TempDir()
	pictures := map[string]bool{}
	for range 2 {
		runs := t.TempDir()
		for _, lr := range []string{"1e-2", "1e-3"} {
			folder := trainedToCompare(t, filepath.Join(runs, "run"+lr), lr)
			for _, folders := range [][]string{{folder}, {folder, folder}} {
				got := callCompare(append(folders, "-out", out)...)
				require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
				pictures[got.Stdout[strings.LastIndex(got.Stdout, "files:\n"):]] = true
			}
		}
	}
	assert.Len(t, pictures, 8)
	files, err := filepath.Glob(filepath.Join(out, "*.svg"))
	require.NoError(t, err)
	assert.Len(t, files, 8)
}

func TestCompareRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "want the folders of runs, as in compare runs/quickstart runs/slower, got none"},
		{[]string{dir}, "want a run's folder, as train writes it, got no config.yaml in it"},
		{[]string{filepath.Join(dir, "none")}, "want a run's folder"},
		{[]string{dir, "-x", "time"}, `-x: want one of tokens, flops, got "time"`},
		{[]string{"-config", "quickstart"}, "unknown flag -config"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			callCompare(append(c.args, "-out", filepath.Join(dir, "out"))...).Refused(t, c.want)
		})
	}
}

func TestCompareHelp(t *testing.T) {
	got := callCompare("-h")
	assert.Equal(t, commandline.ExitOK, got.Code)
	assert.Contains(t, got.Stdout, "-svg")
}
