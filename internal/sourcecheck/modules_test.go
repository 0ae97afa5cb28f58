package sourcecheck

import (
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// Commands are installed by go install ...@latest, which refuses a go.mod with replace lines. So
// go.work says that the cuda build takes gorgonia.org/cu from graph/cuda/cu.
func TestModules(t *testing.T) {
	var mod struct{ Replace []any }
	edited(t, &mod, "mod", "edit", "-json", "../../go.mod")
	require.Empty(t, mod.Replace)

	var work struct {
		Use     []struct{ DiskPath string }
		Replace []any
	}
	edited(t, &work, "work", "edit", "-json", "../../go.work")
	require.Len(t, work.Use, 2)
	require.Equal(t, ".", work.Use[0].DiskPath)
	require.Equal(t, "./graph/cuda/cu", work.Use[1].DiskPath)
	require.Empty(t, work.Replace)

	// The example of another module is not in the workspace: it is built as a module of other
	// authors would be.
	var example struct {
		Module  struct{ Path string }
		Replace []struct{ New struct{ Path string } }
	}
	edited(t, &example, "mod", "edit", "-json", "../../examples/newstream/go.mod")
	require.Equal(t, "example", example.Module.Path)
	require.Len(t, example.Replace, 1)
	require.Equal(t, "../..", example.Replace[0].New.Path)

	var cu struct{ Module struct{ Path string } }
	edited(t, &cu, "mod", "edit", "-json", "../../graph/cuda/cu/go.mod")
	require.Equal(t, "gorgonia.org/cu", cu.Module.Path)
}

// edited decodes what a go command prints.
func edited(t *testing.T, into any, args ...string) {
	t.Helper()
	out, err := exec.Command("go", args...).Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(out, into))
}

// TestProgramsHoldNoBrowser: only tests import the package that drives a browser.
func TestProgramsHoldNoBrowser(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "../../cmd/...", "../../examples/...").Output()
	require.NoError(t, err)
	require.Contains(t, string(out), "residua/trainer")
	require.NotContains(t, string(out), "chromedp")
}

// TestOnlyPrepareReadsParquet: programs with a model inside, and train, do not link the Parquet
// library.
func TestOnlyPrepareReadsParquet(t *testing.T) {
	of := func(packages ...string) string {
		out, err := exec.Command("go", append([]string{"list", "-deps"}, packages...)...).Output()
		require.NoError(t, err)
		return string(out)
	}
	require.Contains(t, of("../../cmd/residua"), "parquet-go")
	require.NotContains(t, of("../../cmd/train", "../../pretrained", "../../models", "../../examples/embedded"), "parquet-go")
}
