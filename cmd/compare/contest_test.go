package main

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/cli/clitest"
	"github.com/residua-go/residua/models"
)

func TestCompareFindsBuiltInConfigsInAnyFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	entries, err := contest{zoo: models.Standard(), out: "out"}.enter(context.Background(), entrants("quickstart,mhc"), nil, []float64{1e-3, 1e-2})
	require.NoError(t, err)
	require.Len(t, entries, 2)
	for i, name := range []string{"quickstart", "mhc"} {
		assert.Equal(t, name, entries[i].name)
		require.Len(t, entries[i].runs, 2)
		assert.Equal(t, [2]float64{1e-3, 1e-4}, [2]float64{entries[i].runs[0].Train.LR, entries[i].runs[0].Train.MinLR})
	}
	clitest.Call(command(models.Standard()), "-config", "quickstart,mch").Refused(t, `got "mch"; did you mean mhc? (train -configs lists them)`)
}

// TestCompareReadsEachConfigOnce: a stream can be read once only.
func TestCompareReadsEachConfigOnce(t *testing.T) {
	file := tiny(t, t.TempDir(), "a", tinyVector)
	load, err := contest{zoo: models.Standard()}.loader(context.Background(), entrant{file: file})
	require.NoError(t, err)
	require.NoError(t, os.Remove(file))
	for range 2 {
		run, err := load("data.path=[text.txt]", "data.source=files")
		require.NoError(t, err)
		assert.Equal(t, "vector", run.Spec().Stream.Name())
	}
}
