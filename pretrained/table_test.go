package pretrained_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
	"github.com/residua-go/residua/stream"
	"github.com/residua-go/residua/trainer/learner"
)

// cpuOnly lists the options that a GPU is refused, by key, and removes them.
func cpuOnly() map[string]func(c *models.Config) bool {
	return map[string]func(c *models.Config) bool{
		"attention.kind: sliding": func(c *models.Config) bool { was := c.Attention.Kind != nil; c.Attention.Kind = nil; return was },
		"attention.softcap":       func(c *models.Config) bool { was := c.Attention.Softcap != 0; c.Attention.Softcap = 0; return was },
		"attention.qk_norm_over: row": func(c *models.Config) bool {
			was := c.Attention.QKNormOver != ""
			c.Attention.QKNormOver = ""
			return was
		},
	}
}

// onGPU returns an error unless a training step of the model can run on a GPU.
func onGPU(spec models.Spec) error {
	_, err := models.Record(spec, 1, 16, models.Outputs{Loss: true}, graph.ProgramOptions{Gradients: true, Options: graph.Options{Training: true}}, cuda.NewRecorder(graph.TF32, 132))
	return err
}

// refusedKeys returns the options of a model that a GPU is refused: without any one of them it is
// refused, and without all of them it runs.
func refusedKeys(t *testing.T, spec models.Spec) (keys []string) {
	c := spec.Config
	for key, remove := range cpuOnly() {
		if remove(&c) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	require.NoError(t, onGPU(resolved(t, c)))
	for _, kept := range keys {
		c := spec.Config
		for key, remove := range cpuOnly() {
			if key != kept {
				remove(&c)
			}
		}
		require.Error(t, onGPU(resolved(t, c)), kept)
	}
	if keys == nil {
		require.NoError(t, onGPU(spec))
	}
	return keys
}

// blocksOf names what a model's blocks have that a Llama's have not.
func blocksOf(c models.Config) string {
	var has []string
	for _, o := range []struct {
		set  bool
		name string
	}{
		{c.Norm == models.NormLayer, "LayerNorm"}, {c.Norms != "", "norms " + c.Norms}, {c.Parallel, "parallel"}, {c.Bias, "biases"},
		{c.Attention.Bias == stream.HeadBiasesQKV, "biases of q, k, v"}, {c.Attention.QKNorm, "QK-norm"}, {c.Attention.RopePart != 0, "partial rotary"},
		{len(c.Attention.NoRope) > 0, "blocks without positions"}, {c.Attention.RopeScaling.Type == layers.RopeLong, "longrope"},
		{c.Attention.Kind != nil, "windows"}, {c.Attention.Softcap != 0, "soft caps"}, {c.ResidualScale != 0, "factors"},
	} {
		if o.set {
			has = append(has, o.name)
		}
	}
	return strings.Join(has, ", ")
}

// requireTrains trains a model of a spec for two steps.
func requireTrains(t *testing.T, spec models.Spec, name string) {
	ids, targets := make([]int32, spec.Seq), make([]int32, spec.Seq)
	for i := range ids {
		ids[i], targets[i] = int32(i%7), int32((i+1)%7)
	}
	l, err := learner.New(spec, learner.Fixed(ids, targets), learner.Options{})
	require.NoError(t, err, name)
	defer l.Close()
	require.NoError(t, l.Train(t.Context(), 2, nil), name)
}

// inBothWays exports a model as GGUF, opens that, and returns llama.cpp's name of it.
func inBothWays(t *testing.T, m *pretrained.Model) string {
	path := filepath.Join(t.TempDir(), "model.gguf")
	require.NoError(t, exportAs(m, "gguf", path, pretrained.ExportOptions{IDsAlone: true}))
	require.NoError(t, open(t, path).Spec.SameModel(m.Spec))
	return "`" + parseGGUF(t, path).metadata["general.architecture"].(string) + "`"
}

// TestTableOfClasses: the table of docs/convert.md says which classes of transformers open, train
// and are exported, what their blocks have, and what becomes of them, and is so.
func TestTableOfClasses(t *testing.T) {
	table := "| `model_type` | opens, trains, is exported as | blocks | GGUF, in and out | a GPU is refused |\n|---|---|---|---|---|\n"
	folders := map[string]string{}
	for _, f := range filledModels(t) {
		folders[f.name] = f.write(t, 1)
	}
	gguf := peoplesInGGUF(t)
	mistral := openForeign(t, llama)
	mistral.config["model_type"], mistral.config["sliding_window"] = "mistral", 7
	folders["gpt2"], folders["llama"], folders["qwen3"], folders["mistral"] = reference(gpt2), reference(llama), reference(qwen3), mistral.write(t)
	folders["phi3"] = folders["phi3-long"]
	for _, kind := range pretrained.ArchitectureNames(models.Standard()) {
		if kind == "residua" {
			continue
		}
		folder, ok := folders[kind]
		require.True(t, ok, "%s: want a folder in testdata/transformers", kind)
		m := open(t, folder)
		requireTrains(t, m.Spec, kind)
		out := filepath.Join(t.TempDir(), "out")
		export(t, m, out, pretrained.ExportOptions{Architecture: kind})
		requireSame(t, m, open(t, out), kind)
		config, err := os.ReadFile(filepath.Join(out, "config.json"))
		require.NoError(t, err)
		_, class, _ := strings.Cut(string(config), `"architectures": [`)
		class, _, _ = strings.Cut(class, "]")
		name := "no"
		if written, ok := gguf[kind]; ok {
			name = inBothWays(t, written)
		} else if kind != "mistral" && kind != "nanochat" {
			name = inBothWays(t, m)
		} else {
			require.ErrorContains(t, exportAs(m, "gguf", filepath.Join(t.TempDir(), "x"), pretrained.ExportOptions{IDsAlone: true}), "gguf: ")
		}
		table += fmt.Sprintf("| `%s` | %s | %s | %s | %s |\n", kind, strings.Trim(strings.TrimSpace(class), `"`), blocksOf(m.Spec.Config), name, strings.Join(refusedKeys(t, m.Spec), ", "))
	}
	page, err := os.ReadFile(filepath.Join("..", "docs", "convert.md"))
	require.NoError(t, err)
	require.True(t, strings.Contains(string(page), table), "want this table in docs/convert.md:\n%s", table)
}
