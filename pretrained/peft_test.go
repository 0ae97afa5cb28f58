package pretrained_test

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/pretrained"
)

// numbers returns n numbers that a formula gives.
func numbers(n int, seed float64) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(math.Sin(float64(i)*1.7+seed) / 10)
	}
	return x
}

// writePEFT writes adapters of rank r and scale 2 for every matrix of a folder's files that accepts
// returns true for, with the keys of more in its config.
func writePEFT(t *testing.T, base string, tensors []checkpoint.Tensor, r int, transposed bool, accepts func(name string) bool, more map[string]any) string {
	folder := t.TempDir()
	var adapters []checkpoint.Tensor
	for i, w := range tensors {
		name := strings.TrimSuffix(w.Name, ".weight")
		if len(w.Shape) != 2 || !accepts(name) {
			continue
		}
		out, in := w.Shape[0], w.Shape[1]
		if transposed {
			in, out = out, in
		}
		adapters = append(adapters, checkpoint.Tensor{Name: "base_model.model." + name + ".lora_A.weight", Shape: []int{r, in}, Data: numbers(r*in, float64(i))},
			checkpoint.Tensor{Name: "base_model.model." + name + ".lora_B.weight", Shape: []int{out, r}, Data: numbers(out*r, float64(-i))})
	}
	config := map[string]any{"peft_type": "LORA", "r": r, "lora_alpha": 2 * r, "bias": "none", "base_model_name_or_path": base}
	for key, value := range more {
		config[key] = value
	}
	text, err := json.Marshal(config)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "adapter_config.json"), text, 0o600))
	require.NoError(t, checkpoint.WriteTensors(filepath.Join(folder, "adapter_model.safetensors"), adapters, nil))
	return folder
}

// requireChanged checks that a folder of Hugging Face's holds the weights W + 2 B A.
func requireChanged(t *testing.T, folder string, base, adapters []checkpoint.Tensor, r int, transposed bool) {
	file, err := checkpoint.ReadTensors(filepath.Join(folder, "model.safetensors"))
	require.NoError(t, err)
	changed := &foreign{tensors: adapters}
	for _, w := range base {
		name := "base_model.model." + strings.TrimSuffix(w.Name, ".weight")
		want, err := w.Float32s()
		require.NoError(t, err)
		want = append([]float32(nil), want...)
		if file, err := (&checkpoint.File{Tensors: adapters}).Tensor(name + ".lora_A.weight"); err == nil {
			a, b := file.Data.([]float32), changed.tensor(name+".lora_B.weight").Data.([]float32)
			for i := range w.Shape[0] {
				for j := range w.Shape[1] {
					o, in := i, j
					if transposed {
						o, in = j, i
					}
					for k := range r {
						want[i*w.Shape[1]+j] += 2 * b[o*r+k] * a[k*len(a)/r+in]
					}
				}
			}
		}
		got, err := file.Tensor(w.Name)
		if w.Name == "lm_head.weight" && err != nil {
			continue // tied
		}
		require.NoError(t, err)
		assert.InDeltaSlice(t, want, got.Data, 1e-5, w.Name)
	}
}

// TestPEFTOfEveryClass: adapters of every matrix that can have one change the weights as peft
// changes them, whatever the order and the layout of a class's weights (GPT-2's are transposed,
// GPT-NeoX's queries, keys and values interleaved), and are written again with the same bits.
func TestPEFTOfEveryClass(t *testing.T) {
	folders := map[string]string{"gpt2": reference("gpt2-hf"), "llama": reference("llama-hf"), "qwen3": reference("qwen3-hf")}
	for _, f := range filledModels(t) {
		folders[f.name] = f.write(t, 1)
	}
	for name, base := range folders {
		t.Run(name, func(t *testing.T) {
			file, err := checkpoint.ReadTensors(filepath.Join(base, "model.safetensors"))
			require.NoError(t, err)
			kind, _, _ := strings.Cut(name, "-")
			accepts := func(name string) bool {
				for _, other := range []string{"embed", "wte", "wpe", "lm_head", "gate_up_proj", "attn.bias"} {
					if strings.Contains(name, other) {
						return false
					}
				}
				return true
			}
			folder := writePEFT(t, base, file.Tensors, 3, kind == "gpt2", accepts, nil)
			m := open(t, folder)
			require.NotNil(t, m.Lora)
			adapters, err := checkpoint.ReadTensors(filepath.Join(folder, "adapter_model.safetensors"))
			require.NoError(t, err)
			require.Len(t, adapters.Tensors, 2*len(m.Lora.Adapters))
			out := filepath.Join(t.TempDir(), "merged")
			_, err = m.Export("huggingface", out, pretrained.ExportOptions{Architecture: kind})
			require.NoError(t, err)
			requireChanged(t, out, file.Tensors, adapters.Tensors, 3, kind == "gpt2")

			again := filepath.Join(t.TempDir(), "peft")
			_, err = m.Export("peft", again, pretrained.ExportOptions{})
			require.NoError(t, err)
			back, err := checkpoint.ReadTensors(filepath.Join(again, "adapter_model.safetensors"))
			require.NoError(t, err)
			assert.ElementsMatch(t, adapters.Tensors, back.Tensors)
			text, err := os.ReadFile(filepath.Join(again, "adapter_config.json"))
			require.NoError(t, err)
			var config map[string]any
			require.NoError(t, json.Unmarshal(text, &config))
			assert.Equal(t, kind == "gpt2", config["fan_in_fan_out"])
			assert.Equal(t, []any{3.0, 6.0, base}, []any{config["r"], config["lora_alpha"], config["base_model_name_or_path"]})
			requireSame(t, m, open(t, again), "again")
		})
	}
}

// TestPEFTRefuses what is not a product of low rank of one weight, by key or tensor.
func TestPEFTRefuses(t *testing.T) {
	base := reference("qwen3-hf")
	file := readForeign(t, "qwen3-hf", "model.safetensors")
	queries := func(name string) bool { return strings.Contains(name, "q_proj") }
	for want, more := range map[string]map[string]any{
		"peft_type: want LORA, got \"IA3\"": {"peft_type": "IA3"},
		"use_dora: want false":              {"use_dora": true},
		"bias: want none":                   {"bias": "all"},
		"modules_to_save: want none":        {"modules_to_save": []string{"lm_head"}},
		"rank_pattern: want one rank":       {"rank_pattern": map[string]int{"q_proj": 4}},
		"r: want >= 1, got 0":               {"r": 0},
		"init_lora_weights: want":           {"init_lora_weights": "pissa_niter_16"},
		"alora_invocation_tokens: want":     {"alora_invocation_tokens": []int{1, 2}},
		"want shape [2, in] for .lora_A":    {"r": 2},
		"name it by -base":                  {"base_model_name_or_path": "Some/Model"},
	} {
		_, err := pretrained.Open(writePEFT(t, base, file.Tensors, 3, false, queries, more))
		assert.ErrorContains(t, err, want)
	}
	_, err := pretrained.Open(writePEFT(t, base, file.Tensors, 3, false, func(string) bool { return true }, nil))
	assert.ErrorContains(t, err, "model.embed_tokens: it is a table, a norm or an unembedding, and cannot have an adapter")
	folder := writePEFT(t, "Some/Model", file.Tensors, 3, false, queries, map[string]any{"use_rslora": true, "init_lora_weights": "gaussian", "alora_invocation_tokens": nil})
	m, err := pretrained.OpenOn(folder, base)
	require.NoError(t, err)
	assert.InDelta(t, 6/math.Sqrt(3), m.Lora.Adapters[0].Scale, 1e-12)
	_, err = pretrained.OpenOn(base, folder)
	assert.ErrorContains(t, err, "want adapters, which change the model")
	_, err = open(t, base).Export("peft", t.TempDir(), pretrained.ExportOptions{})
	assert.ErrorContains(t, err, "want a model with adapters")
	whole, err := checkpoint.ReadTensors(filepath.Join(folder, "adapter_model.safetensors"))
	require.NoError(t, err)
	seconds := slices.DeleteFunc(whole.Tensors, func(t checkpoint.Tensor) bool { return strings.HasSuffix(t.Name, "lora_A.weight") })
	half := writePEFT(t, base, nil, 3, false, queries, nil)
	require.NoError(t, checkpoint.WriteTensors(filepath.Join(half, "adapter_model.safetensors"), seconds, nil))
	_, err = pretrained.Open(half)
	assert.ErrorContains(t, err, "want .lora_A.weight and .lora_B.weight of each weight, got 0 and ")
	_, err = pretrained.OpenOn(folder, reference("gpt2-hf"))
	assert.ErrorContains(t, err, "want adapters of the model's weights [c_attn c_fc c_proj] alone")
}

// requirePEFT compares a model with the logits that peft has computed in a folder of adapters.
func requirePEFT(t *testing.T, m *pretrained.Model, folder string) {
	file, err := checkpoint.ReadTensors(filepath.Join(folder, "expected.safetensors"))
	require.NoError(t, err)
	ids, err := file.Tensor("tokens")
	require.NoError(t, err)
	tokens, err := ids.Ints()
	require.NoError(t, err)
	logits, err := file.Tensor("logits")
	require.NoError(t, err)
	requireClose(t, logits.Data.([]float32), logitsOf(t, m, tokens, 2), 1e-5)
}

// peftFolder is a folder of testdata/peft.
func peftFolder(name string) string { return filepath.Join("..", "testdata", "peft", name) }

// TestPEFTReference: a model with adapters that peft has made computes what peft does.
func TestPEFTReference(t *testing.T) {
	for _, name := range []string{"qwen3", "gpt2"} {
		m, err := pretrained.OpenOn(peftFolder(name), reference(name+"-hf"))
		require.NoError(t, err)
		requirePEFT(t, m, peftFolder(name))
		tokens, logits := expected(t, name+"-hf")
		assert.NotEqual(t, logits, logitsOf(t, m, tokens, 2), "the base's")
	}
}

// TestPEFTReadsOurs: peft computes with adapters that we write what we compute.
func TestPEFTReadsOurs(t *testing.T) {
	program := python(t, "peft", "transformers", "safetensors")
	for _, name := range []string{"qwen3", "gpt2"} {
		base, err := filepath.Abs(reference(name + "-hf"))
		require.NoError(t, err)
		file := readForeign(t, name+"-hf", "model.safetensors")
		m := open(t, writePEFT(t, base, file.Tensors, 2, name == "gpt2", func(name string) bool {
			return !strings.Contains(name, "embed") && !strings.Contains(name, "wte") && !strings.Contains(name, "wpe") && !strings.Contains(name, "lm_head")
		}, nil))
		folder := filepath.Join(t.TempDir(), "peft")
		_, err = m.Export("peft", folder, pretrained.ExportOptions{})
		require.NoError(t, err)
		out, err := exec.Command(program, peftFolder("make.py"), folder, base).CombinedOutput()
		require.NoError(t, err, "%s", out)
		requirePEFT(t, m, folder)
	}
}
