package sourcecheck

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Commands are installed by go install ...@latest, which refuses a go.mod with replace lines. So
// go.work says that the cuda build takes gorgonia.org/cu from graph/cuda/cu.
func TestModules(t *testing.T) {
	atRoot(t)
	var mod struct{ Replace []any }
	edited(t, &mod, "mod", "edit", "-json", "./go.mod")
	require.Empty(t, mod.Replace)

	var work struct {
		Use     []struct{ DiskPath string }
		Replace []any
	}
	edited(t, &work, "work", "edit", "-json", "./go.work")
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
	edited(t, &example, "mod", "edit", "-json", "./examples/newstream/go.mod")
	require.Equal(t, "example", example.Module.Path)
	require.Len(t, example.Replace, 1)
	require.Equal(t, "../..", example.Replace[0].New.Path)

	var cu struct{ Module struct{ Path string } }
	edited(t, &cu, "mod", "edit", "-json", "./graph/cuda/cu/go.mod")
	require.Equal(t, "gorgonia.org/cu", cu.Module.Path)
}

// TestImportsOfTheBinding: of the packages of graph/cuda/cu, this module imports those that the
// module of that name has, too. go mod tidy looks for all of them there, also in the modules of
// others, where no go.work says otherwise.
func TestImportsOfTheBinding(t *testing.T) {
	atRoot(t)
	both := []string{"gorgonia.org/cu", "gorgonia.org/cu/blas", "gorgonia.org/cu/dnn"}
	found := 0
	for _, name := range files(t, ".go") {
		if strings.HasPrefix(name, "graph/cuda/cu/") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, spec := range f.Imports {
			if path, _ := strconv.Unquote(spec.Path.Value); path == both[0] || strings.HasPrefix(path, both[0]+"/") {
				found++
				assert.Contains(t, both, path, name)
			}
		}
	}
	assert.Positive(t, found)
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
	atRoot(t)
	out, err := exec.Command("go", "list", "-deps", "./cmd/...", "./examples/...").Output()
	require.NoError(t, err)
	require.Contains(t, string(out), "residua/trainer")
	require.NotContains(t, string(out), "chromedp")
}

// TestOnlyPrepareReadsParquet: the Parquet library is linked with its tag alone, into the program
// that prepares text, neither into train nor into programs with a model inside.
func TestOnlyPrepareReadsParquet(t *testing.T) {
	atRoot(t)
	of := func(packages ...string) string {
		out, err := exec.Command("go", append([]string{"list", "-deps"}, packages...)...).Output()
		require.NoError(t, err)
		return string(out)
	}
	require.Contains(t, of("-tags=parquet", "./cmd/residua"), "parquet-go")
	require.NotContains(t, of("./cmd/residua"), "parquet-go")
	require.NotContains(t, of("-tags=parquet", "./cmd/train", "./pretrained", "./models", "./examples/embedded"), "parquet-go")
}
