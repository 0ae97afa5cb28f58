package pretrained_test

import (
	"encoding/json"
	"hash/crc32"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/pretrained"
)

// filled is a folder of testdata/transformers: what transformers computes for a model whose weights
// a formula gives (make.py there).
type filled struct {
	name    string
	DType   string
	AddsOne bool `json:"adds_one"`
	Tensors map[string][]int
	tokens  []int
	logits  []float64
}

// filledModels reads all folders.
func filledModels(t *testing.T) (all []filled) {
	folders, err := filepath.Glob(filepath.Join("..", "testdata", "transformers", "*", "tensors.json"))
	require.NoError(t, err)
	require.NotEmpty(t, folders)
	for _, path := range folders {
		f := filled{name: filepath.Base(filepath.Dir(path))}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &f))
		expected, err := checkpoint.ReadTensors(f.path("expected.safetensors"))
		require.NoError(t, err)
		for _, x := range expected.Tensors {
			switch data := x.Data.(type) {
			case []int32:
				for _, id := range data {
					f.tokens = append(f.tokens, int(id))
				}
			case []float32:
				for _, v := range data {
					f.logits = append(f.logits, float64(v))
				}
			}
		}
		all = append(all, f)
	}
	return all
}

// path returns the path of one of the folder's files.
func (f filled) path(name string) string {
	return filepath.Join("..", "testdata", "transformers", f.name, name)
}

// weights returns the tensors that make.py fills.
func (f filled) weights() (tensors []checkpoint.Tensor) {
	for _, name := range slices.Sorted(maps.Keys(f.Tensors)) {
		shape := f.Tensors[name]
		size := 1
		for _, n := range shape {
			size *= n
		}
		x := make([]float32, size)
		for i := range x {
			h := uint32(i)*2654435761 + crc32.ChecksumIEEE([]byte(name))
			h ^= h >> 16
			h *= 0x85ebca6b
			h ^= h >> 13
			v := float64(h>>8)/(1<<24) - 0.5
			switch gain := len(shape) == 1 && strings.HasSuffix(name, "weight"); {
			case gain && f.AddsOne:
				v /= 2
			case gain:
				v = 1 + v/2
			}
			x[i] = float32(v)
		}
		tensors = append(tensors, checkpoint.Tensor{Name: name, Shape: shape, Data: x})
	}
	return tensors
}

// A file of model.state_dict() calls the head lm_head.weight, where save_pretrained writes
// embed_out.weight (transformers 5).
func TestHeadOfAStateDict(t *testing.T) {
	all := filledModels(t)
	f := all[slices.IndexFunc(all, func(f filled) bool { return f.name == "gpt_neox" })]
	want := open(t, f.write(t, 1))
	folder, tensors := f.write(t, 1), f.weights()
	i := slices.IndexFunc(tensors, func(t checkpoint.Tensor) bool { return t.Name == "embed_out.weight" })
	tensors[i].Name = "lm_head.weight"
	write := func() {
		require.NoError(t, checkpoint.WriteTensors(filepath.Join(folder, "model.safetensors"), tensors, nil))
	}
	write()
	requireSame(t, want, open(t, folder), "lm_head.weight")
	tensors = append(tensors, checkpoint.Tensor{Name: "embed_out.weight", Shape: tensors[i].Shape, Data: tensors[i].Data})
	write()
	_, err := pretrained.Open(folder)
	require.ErrorContains(t, err, `want it once`)
}

// write writes the model's folder, with weights in the given number of files.
func (f filled) write(t *testing.T, files int) string {
	folder := t.TempDir()
	config, err := os.ReadFile(f.path("config.json"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "config.json"), config, 0o600))
	tensors := f.weights()
	if f.DType == "BF16" {
		for i := range tensors {
			tensors[i].Data = checkpoint.ToBFloat16s(tensors[i].Data.([]float32))
		}
	}
	if files == 1 {
		require.NoError(t, checkpoint.WriteTensors(filepath.Join(folder, "model.safetensors"), tensors, nil))
		return folder
	}
	index := map[string]string{}
	for i := range files {
		var part []checkpoint.Tensor
		name := string(rune('a'+i)) + ".safetensors"
		for k, x := range tensors {
			if k%files == i {
				part, index[x.Name] = append(part, x), name
			}
		}
		require.NoError(t, checkpoint.WriteTensors(filepath.Join(folder, name), part, nil))
	}
	text, err := json.Marshal(map[string]any{"weight_map": index})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "model.safetensors.index.json"), text, 0o600))
	return folder
}

// TestModelsThatPeopleHave: for each class of transformers, a model of it is read with
// transformers' logits to 2e-5 of the largest, from one file and from several; the model is
// exported as the same class, and read back with the same bits.
func TestModelsThatPeopleHave(t *testing.T) {
	worst := 0.0
	for _, f := range filledModels(t) {
		t.Run(f.name, func(t *testing.T) {
			m := open(t, f.write(t, 1))
			got := logitsOf(t, m, f.tokens, 1)
			largest, most := 0.0, 0.0
			for i, want := range f.logits {
				largest, most = max(largest, math.Abs(want)), max(most, math.Abs(float64(got[i])-want))
			}
			t.Logf("difference %.2g of %.3g", most, largest)
			require.LessOrEqual(t, most, 2e-5*largest)
			worst = max(worst, most/largest)

			sharded := open(t, f.write(t, 3))
			requireSame(t, m, sharded, "several files")

			kind, _, _ := strings.Cut(f.name, "-")
			folder := filepath.Join(t.TempDir(), "out")
			_, err := m.Export("huggingface", folder, pretrained.ExportOptions{Architecture: kind})
			require.NoError(t, err)
			back := open(t, folder)
			requireSame(t, m, back, "exported")
		})
	}
	t.Logf("largest difference of a logit over the largest logit: %.2g", worst)
}

// TestTorchFolders: a folder whose weights torch.save wrote, in one file or several, opens as one
// of safetensors does.
func TestTorchFolders(t *testing.T) {
	program := python(t, "torch", "safetensors")
	for _, f := range filledModels(t) {
		if f.name != "qwen2-untied-bf16" && f.name != "phi3" {
			continue
		}
		for _, files := range []int{1, 3} {
			folder := f.write(t, files)
			m := open(t, folder)
			const convert = `
import glob, json, os, sys, torch
from safetensors.torch import load_file
os.chdir(sys.argv[1])
names = {}
for i, path in enumerate(sorted(glob.glob("*.safetensors"))):
    w = load_file(path)
    name = "pytorch_model.bin" if sys.argv[2] == "1" else f"part{i}.bin"
    torch.save(w, name)
    names |= {k: name for k in w}
    os.remove(path)
if sys.argv[2] != "1":
    json.dump({"weight_map": names}, open("pytorch_model.bin.index.json", "w"))
    os.remove("model.safetensors.index.json")
`
			out, err := exec.Command(program, "-c", convert, folder, strconv.Itoa(files)).CombinedOutput()
			require.NoError(t, err, "%s", out)
			requireSame(t, m, open(t, folder), f.name)
		}
	}
}
