package pretrained_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
)

func gpt2Folder() string { return filepath.Join("..", "testdata", "reference", "gpt2-hf") }

// foreign is a Hugging Face folder in memory, to be changed and written.
type foreign struct {
	config  map[string]any
	tensors []checkpoint.Tensor
}

func openForeign(t *testing.T) *foreign {
	text, err := os.ReadFile(filepath.Join(gpt2Folder(), "config.json"))
	require.NoError(t, err)
	f := &foreign{}
	require.NoError(t, json.Unmarshal(text, &f.config))
	f.tensors = readForeign(t, "model.safetensors").Tensors
	return f
}

func readForeign(t *testing.T, name string) *checkpoint.File {
	file, err := checkpoint.ReadTensors(filepath.Join(gpt2Folder(), name))
	require.NoError(t, err)
	return file
}

// tensor returns the tensor of that name for changes.
func (f *foreign) tensor(name string) *checkpoint.Tensor {
	i := slices.IndexFunc(f.tensors, func(t checkpoint.Tensor) bool { return t.Name == name })
	return &f.tensors[i]
}

func (f *foreign) add(name string, shape []int, data any) {
	f.tensors = append(f.tensors, checkpoint.Tensor{Name: name, Shape: shape, Data: data})
}

func (f *foreign) remove(name string) {
	f.tensors = slices.DeleteFunc(f.tensors, func(t checkpoint.Tensor) bool { return t.Name == name })
}

func (f *foreign) write(t *testing.T) string {
	dir := t.TempDir()
	text, err := json.Marshal(f.config)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), text, 0o600))
	require.NoError(t, checkpoint.WriteTensors(filepath.Join(dir, "model.safetensors"), f.tensors, map[string]string{"format": "pt"}))
	return dir
}

func open(t *testing.T, dir string) *pretrained.Model {
	p, err := pretrained.Open(dir)
	require.NoError(t, err)
	return p
}

// logitsOf runs the model over whole rows of tokens.
func logitsOf(t *testing.T, p *pretrained.Model, tokens []int, rows int) []float32 { // [rows, tokens, V]
	var logits *gorgonia.Node
	program, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Store: p.Store, Threads: 2}}, func(b *graph.Builder) (graph.Roots, error) {
		m, err := models.On(b, p.Spec)
		if err != nil {
			return graph.Roots{}, err
		}
		logits = m.Logits(m.Forward(b.Input("tokens", tensor.Int32, rows, len(tokens)/rows)))
		return graph.Roots{Outputs: gorgonia.Nodes{logits}}, m.Err()
	})
	require.NoError(t, err)
	defer program.Close()
	for i, id := range tokens {
		program.Ints("tokens")[i] = int32(id)
	}
	require.NoError(t, program.Run(graph.RunOptions{}))
	return slices.Clone(logits.Value().(*tensor.Dense).Float32s())
}

// expected returns the tokens [2, 40] and logits [2, 40, 113] that transformers computed.
func expected(t *testing.T) (tokens []int, logits []float32) {
	file := readForeign(t, "expected.safetensors")
	ids, err := file.Tensor("tokens")
	require.NoError(t, err)
	tokens, err = ids.Ints()
	require.NoError(t, err)
	values, err := file.Tensor("logits")
	require.NoError(t, err)
	logits, err = values.Float32s()
	require.NoError(t, err)
	return tokens, logits
}

// requireClose compares relative to the largest entry.
func requireClose(t *testing.T, want, got []float32, tolerance float64) {
	require.Len(t, got, len(want))
	var difference, scale float64
	for i := range want {
		d := math.Abs(float64(got[i]) - float64(want[i]))
		require.False(t, math.IsNaN(d), i)
		difference, scale = max(difference, d), max(scale, math.Abs(float64(want[i])))
	}
	require.LessOrEqual(t, difference/scale, tolerance)
}

const hfTolerance = 2e-5 // of float32 logits

func TestOpenHuggingFace(t *testing.T) {
	p := open(t, gpt2Folder()+"/")
	c := models.Transformer(2, 24, 96, 3)
	c.Vocab, c.Seq, c.NormEps, c.Bias, c.TieEmbeddings, c.Gelu = 113, 64, 1e-5, true, true, models.GeluTanh
	require.Equal(t, resolved(t, c), p.Spec)
	require.Equal(t, config.Data{TextField: "text"}, p.Data)
	require.Equal(t, checkpoint.KindHuggingFace, p.Source.Kind)
	require.Len(t, p.Source.Warnings, 1)
	require.Contains(t, p.Source.Warnings[0], "no tokenizer here has its vocabulary of 113 ids (gpt2 has 50257)")
	require.Nil(t, p.State)
	tokens, want := expected(t)
	requireClose(t, want, logitsOf(t, p, tokens, 2), hfTolerance)
}

// A base model's file has no prefix; old files hold the masks of attention; some hold the tied head.
func TestHuggingFaceSpellings(t *testing.T) {
	f := openForeign(t)
	for i := range f.tensors {
		f.tensors[i].Name = strings.TrimPrefix(f.tensors[i].Name, "transformer.")
	}
	f.add("h.0.attn.bias", []int{1, 1, 2, 2}, []float32{1, 0, 1, 1})
	f.add("h.1.attn.bias", []int{1, 1, 2, 2}, []uint8{1, 0, 1, 1})
	f.add("h.1.attn.masked_bias", []int{}, []float32{-1e4})
	f.add("lm_head.weight", []int{113, 24}, f.tensor("wte.weight").Data)
	for _, key := range []string{"n_inner", "activation_function", "layer_norm_epsilon", "scale_attn_weights", "tie_word_embeddings"} {
		delete(f.config, key) // these have transformers' defaults
	}
	p, want := open(t, f.write(t)), open(t, gpt2Folder())
	require.Equal(t, want.Description, p.Description)
	for i, param := range want.Store.Params() {
		require.Equal(t, param.Value.Float32s(), p.Store.Params()[i].Value.Float32s(), param.Name)
	}
}

// Dividing the attention scores of layer l by l + 1 is dividing its queries by it.
func TestHuggingFaceInverseLayer(t *testing.T) {
	tokens, plain := expected(t)
	f := openForeign(t)
	f.config["scale_attn_by_inverse_layer_idx"] = true
	got := logitsOf(t, open(t, f.write(t)), tokens, 2)

	f.config["scale_attn_by_inverse_layer_idx"] = false
	for _, name := range []string{"weight", "bias"} {
		data := f.tensor("transformer.h.1.attn.c_attn." + name).Data.([]float32) // [24, 3*24] or [3*24]
		for i := range data {
			if i%72 < 24 {
				data[i] /= 2
			}
		}
	}
	requireClose(t, logitsOf(t, open(t, f.write(t)), tokens, 2), got, hfTolerance)
	require.NotEqual(t, plain[:len(plain)/2], got[:len(got)/2])
	var largest float64
	for i := range got {
		largest = max(largest, math.Abs(float64(got[i]-plain[i])))
	}
	require.Greater(t, largest, 1e-2, "the flag changes nothing")
}

func TestHuggingFaceActivations(t *testing.T) {
	for name, want := range map[string]string{"gelu_new": models.GeluTanh, "gelu_pytorch_tanh": models.GeluTanh, "gelu_fast": models.GeluTanh, "gelu": models.GeluExact, "gelu_python": models.GeluExact} {
		f := openForeign(t)
		f.config["activation_function"] = name
		require.Equal(t, want, open(t, f.write(t)).Spec.Gelu, name)
	}
}

// A vocabulary of GPT-2's size is GPT-2's.
func TestHuggingFaceTokenizer(t *testing.T) {
	f := openForeign(t)
	f.config["vocab_size"] = 50257
	e := f.tensor("transformer.wte.weight")
	e.Shape, e.Data = []int{50257, 24}, make([]float32, 50257*24)
	p := open(t, f.write(t))
	require.Equal(t, "gpt2", p.Data.Tokenizer)
	require.Empty(t, p.Source.Warnings)
}

func TestHuggingFaceRefuses(t *testing.T) {
	set := func(key string, value any) func(*foreign) { return func(f *foreign) { f.config[key] = value } }
	head := func(shape []int, first float32) func(*foreign) {
		return func(f *foreign) {
			data := slices.Clone(f.tensor("transformer.wte.weight").Data.([]float32))
			data[0] += first
			f.add("lm_head.weight", shape, data)
		}
	}
	for _, c := range []struct {
		name   string
		change func(*foreign)
		want   check
	}{
		{"model type", set("model_type", "gpt_neo"), setting("model_type")},
		{"no model type", func(f *foreign) { delete(f.config, "model_type") }, setting("model_type")},
		{"activation", set("activation_function", "relu"), setting("activation_function")},
		{"scale", set("scale_attn_weights", false), setting("scale_attn_weights")},
		{"cross-attention", set("add_cross_attention", true), setting("add_cross_attention")},
		{"untied", set("tie_word_embeddings", false), setting("tie_word_embeddings")},
		{"eps", set("layer_norm_epsilon", 0), setting("layer_norm_epsilon")},
		{"large eps", set("layer_norm_epsilon", 2), field("norm_eps")},
		{"type of a size", set("n_embd", "24"), setting("n_embd")},
		{"fraction", set("n_layer", 1.5), setting("n_layer")},
		{"heads", set("n_head", 5), field("attention.heads")},
		{"negative", set("n_layer", -1), field("layers")},
		{"width", set("n_embd", 48), says(`model.safetensors: tensor "transformer.wte.weight": want shape [113 48] for the model of config.json, got [113 24]`)},
		{"huge width", set("n_embd", 3<<27), tensorNamed("transformer.wte.weight")},
		{"inner", set("n_inner", 95), tensorNamed("transformer.h.0.mlp.c_fc.weight")},
		{"huge inner", set("n_inner", 1<<30), tensorNamed("transformer.h.0.mlp.c_fc.weight")},
		{"width beyond bounds", set("n_embd", 3<<58), field("stream.d_model")},
		{"positions", set("n_positions", 1024), tensorNamed("transformer.wpe.weight")},
		{"too many layers", set("n_layer", 1<<30), tensorNamed("h.2.ln_1.weight")},
		{"too few layers", set("n_layer", 1), tensorNamed("h.1.attn.c_attn.bias")},
		{"missing", func(f *foreign) { f.remove("transformer.ln_f.bias") }, tensorNamed("ln_f.bias")},
		{"extra", func(f *foreign) { f.add("score.weight", []int{1}, []float32{1}) }, tensorNamed("score.weight")},
		{"twice", func(f *foreign) { f.add("ln_f.bias", []int{1}, []float32{1}) }, tensorNamed("ln_f.bias")},
		{"transposed", func(f *foreign) { f.tensor("transformer.h.1.attn.c_attn.weight").Shape = []int{72, 24} }, tensorNamed("transformer.h.1.attn.c_attn.weight")},
		{"doubles", func(f *foreign) { f.tensor("transformer.ln_f.bias").Data = make([]float64, 24) }, tensorNamed("transformer.ln_f.bias")},
		{"another head", head([]int{113, 24}, 1), says(`tensor "lm_head.weight": want the embedding, to which it is tied, got other values`)},
		{"shape of the head", head([]int{24, 113}, 0), tensorNamed("lm_head.weight")},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := openForeign(t)
			c.change(f)
			requireRefused(t, f.write(t), c.want)
		})
	}
}

func requireRefused(t *testing.T, dir string, want check) {
	p, err := pretrained.Open(dir)
	want(t, err)
	require.ErrorContains(t, err, dir)
	require.NotContains(t, err.Error(), "\n")
	require.Nil(t, p)
}

// What cannot be read at all: each case rewrites one file of the folder.
func TestHuggingFaceRefusesFiles(t *testing.T) {
	for _, c := range []struct {
		file   string
		change func([]byte) []byte
		want   string
	}{
		{"config.json", func([]byte) []byte { return []byte("{") }, "config.json: want a JSON object: unexpected end of JSON input"},
		{"config.json", func([]byte) []byte { return []byte("[]") }, "config.json: want a JSON object"},
		{"config.json", func([]byte) []byte { return []byte("null") }, "model_type: want gpt2"},
		{"model.safetensors", func(b []byte) []byte { return b[:len(b)-1] }, "truncated or damaged"},
		{"model.safetensors", func([]byte) []byte { return nil }, "too few for a safetensors file"},
		{"model.safetensors", halved("F16"), `dtype "F16" is not supported`},
		{"model.safetensors", halved("BF16"), `dtype "BF16" is not supported`},
	} {
		dir := openForeign(t).write(t)
		path := filepath.Join(dir, c.file)
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, c.change(data), 0o600))
		requireRefused(t, dir, says(c.want))
	}
	dir := openForeign(t).write(t)
	require.NoError(t, os.Remove(filepath.Join(dir, "model.safetensors")))
	requireRefused(t, dir, says("has a config.json but no model.safetensors"))
}

// halved says in the header that the first tensor has elements of another type; the data stay.
func halved(dtype string) func([]byte) []byte {
	return func(b []byte) []byte {
		before, after := []byte(`"dtype":"F32"`), fmt.Appendf(nil, `"dtype":%q`, dtype)
		b = bytes.Replace(b, before, after, 1)
		length := binary.LittleEndian.Uint64(b) + uint64(len(after)-len(before))
		binary.LittleEndian.PutUint64(b, length)
		return b
	}
}
