package report

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/models/modeltest"
)

// TestExport: both forms hold a run's activations, with the names of axes and the prompt's tokens.
func TestExport(t *testing.T) {
	m, dir := vector(t), t.TempDir()
	names := []string{"blocks.*.attention.heads", "blocks.1.attention.pattern", "embedding.out"}
	o := Export{Prompt: Prompt{Text: "line 7"}, Names: names, Safetensors: filepath.Join(dir, "some.safetensors"), NPY: filepath.Join(dir, "new", "npy")}
	r, err := analyse(m, o)
	require.NoError(t, err)
	ids, err := o.Prompt.Read(m, 1)
	require.NoError(t, err)
	run, err := m.run(ids, names)
	require.NoError(t, err)
	require.Len(t, run.Names(), 4)

	file, err := checkpoint.ReadTensors(o.Safetensors)
	require.NoError(t, err)
	require.Len(t, file.Tensors, 4)
	axes := map[string][]string{}
	require.NoError(t, json.Unmarshal([]byte(file.Metadata["axes"]), &axes))
	var tokens []Token
	require.NoError(t, json.Unmarshal([]byte(file.Metadata["tokens"]), &tokens))
	assert.Equal(t, r.Tokens, tokens)
	for _, x := range file.Tensors {
		want, err := run.Get(x.Name)
		require.NoError(t, err)
		assert.Equal(t, want.Axes, axes[x.Name])
		assert.Equal(t, want.Shape, x.Shape)
		values, err := x.Float64s()
		require.NoError(t, err)
		assert.Equal(t, want.Values, values)
		checkNPY(t, filepath.Join(o.NPY, x.Name+".npy"), want)
	}

	var index struct {
		Tokens      []Token
		Activations []ExportedActivation
	}
	text, err := os.ReadFile(filepath.Join(o.NPY, indexFile))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &index))
	assert.Equal(t, r.Tokens, index.Tokens)
	listed := r.Results["activations"].(*Exported).Activations
	require.Len(t, index.Activations, len(listed))
	for i, a := range listed {
		assert.Equal(t, []any{a.Name, a.Axes, a.Shape}, []any{index.Activations[i].Name, index.Activations[i].Axes, index.Activations[i].Shape})
	}
	entries, err := os.ReadDir(o.NPY)
	require.NoError(t, err)
	assert.Len(t, entries, 5)

	_, err = analyse(m, o)
	assert.ErrorIs(t, err, check.ValueError{Name: "npy", Got: o.NPY}, "a folder that is there is kept")
}

// checkNPY reads numpy's format by its description.
func checkNPY(t *testing.T, path string, want cache.Activation) {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "\x93NUMPY\x01\x00", string(content[:8]))
	begin := 10 + int(binary.LittleEndian.Uint16(content[8:]))
	assert.Zero(t, begin%64)
	parts := regexp.MustCompile(`^\{'descr': '<f4', 'fortran_order': False, 'shape': \((\d+,(?: \d+,?)*)\), \} *\n$`).FindStringSubmatch(string(content[10:begin]))
	require.Len(t, parts, 2, string(content[10:begin]))
	var shape []int
	for _, n := range strings.FieldsFunc(parts[1], func(r rune) bool { return r == ',' || r == ' ' }) {
		size, err := strconv.Atoi(n)
		require.NoError(t, err)
		shape = append(shape, size)
	}
	assert.Equal(t, want.Shape, shape)
	require.Len(t, content, begin+4*len(want.Values))
	for i, v := range want.Values {
		assert.Equal(t, v, float64(math.Float32frombits(binary.LittleEndian.Uint32(content[begin+4*i:]))))
	}
}

// TestAPromptBeyondTheWindow: a report says that a prompt is longer than the rows that the model
// was trained on, which only a model without learned positions accepts.
func TestAPromptBeyondTheWindow(t *testing.T) {
	m := vector(t)
	c := m.Spec.Config
	c.Attention.Positions, c.Seq = models.PositionsRoPE, 8
	m.Spec = modeltest.Resolve(t, c)
	m.Store = modeltest.PerturbedStore(t, m.Spec, tensor.Float32)
	for text, long := range map[string]bool{"sevenof": false, "eight of": true} { // and BOS
		r, err := analyse(m, Export{Prompt: Prompt{Text: text}, Safetensors: filepath.Join(t.TempDir(), "a.safetensors")})
		require.NoError(t, err)
		says := strings.Contains(r.String(), "the prompt has 9 tokens, more than the 8 of the rows that the model was trained on: positions after those are new to it")
		require.Equal(t, long, says, r.String())
	}
	r, err := analyse(m, Basis{Prompt: Prompt{Text: "eight of, and more"}})
	require.NoError(t, err)
	require.NotContains(t, r.String(), "new to it", "which is read in rows of 8")
	require.Len(t, r.Tokens, 19)
}

// TestExportListsNames: without files all activations are listed.
func TestExportListsNames(t *testing.T) {
	m := vector(t)
	r, err := analyse(m, Export{})
	require.NoError(t, err)
	names, err := cache.Names(m.Store, m.Spec)
	require.NoError(t, err)
	e := r.Results["activations"].(*Exported)
	require.Len(t, e.Activations, len(names))
	assert.Empty(t, e.Files)
	_, err = analyse(m, Export{Names: []string{"blocks.*.atention.heads"}, Safetensors: filepath.Join(t.TempDir(), "a")})
	assert.ErrorAs(t, err, new(check.UnknownNameError))
}
