package pretrained_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
	"github.com/residua-go/residua/runconfig"
)

const gpt2 = "gpt2-hf"

func TestOpenGPT2(t *testing.T) {
	p := open(t, reference(gpt2)+"/")
	c := models.Transformer(2, 24, 96, 3)
	c.Vocab, c.Seq, c.NormEps, c.Bias, c.TieEmbeddings, c.Gelu = 113, 64, 1e-5, true, true, models.GeluTanh
	require.Equal(t, resolved(t, c), p.Spec)
	require.Equal(t, runconfig.Data{TextField: "text"}, p.Data)
	require.Equal(t, checkpoint.Kind("huggingface"), p.Source.Kind)
	require.Len(t, p.Source.Warnings, 1)
	require.Contains(t, p.Source.Warnings[0], "config.json: no tokenizer.json next to it, and no tokenizer here has its vocabulary of 113 ids: text cannot be encoded")
	require.Nil(t, p.State)
	tokens, want := expected(t, gpt2)
	requireClose(t, want, logitsOf(t, p, tokens, 2), hfTolerance)
}

// A base model's file has no prefix; old files hold the masks of attention; some hold the tied
// head.
func TestGPT2Spellings(t *testing.T) {
	f := openForeign(t, gpt2)
	for i := range f.tensors {
		f.tensors[i].Name = strings.TrimPrefix(f.tensors[i].Name, "transformer.")
	}
	f.add("h.0.attn.bias", []int{1, 1, 2, 2}, []float32{1, 0, 1, 1})
	f.add("h.1.attn.bias", []int{1, 1, 2, 2}, []uint8{1, 0, 1, 1})
	f.add("h.1.attn.masked_bias", []int{}, []float32{-1e4})
	f.add("lm_head.weight", []int{113, 24}, f.tensor("wte.weight").Data)
	for _, key := range []string{"n_inner", "activation_function", "layer_norm_epsilon", "scale_attn_weights", "tie_word_embeddings"} {
		delete(f.config, key) // transformers' defaults apply
	}
	p, want := open(t, f.write(t)), open(t, reference(gpt2))
	require.Equal(t, want.Description, p.Description)
	for i, param := range want.Store.Params() {
		require.Equal(t, param.Value.Float32s(), p.Store.Params()[i].Value.Float32s(), param.Name)
	}
}

// Dividing the attention scores of layer l by l + 1 equals dividing its queries by it.
func TestGPT2InverseLayer(t *testing.T) {
	tokens, plain := expected(t, gpt2)
	f := openForeign(t, gpt2)
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

func TestGPT2Activations(t *testing.T) {
	for name, want := range map[string]string{"gelu_new": models.GeluTanh, "gelu_pytorch_tanh": models.GeluTanh, "gelu_fast": models.GeluTanh, "gelu": models.GeluExact, "gelu_python": models.GeluExact} {
		f := openForeign(t, gpt2)
		f.config["activation_function"] = name
		require.Equal(t, want, open(t, f.write(t)).Spec.Gelu, name)
	}
}

// A vocabulary of GPT-2's size means GPT-2's tokenizer.
func TestGPT2Tokenizer(t *testing.T) {
	f := openForeign(t, gpt2)
	f.config["vocab_size"] = 50257
	e := f.tensor("transformer.wte.weight")
	e.Shape, e.Data = []int{50257, 24}, make([]float32, 50257*24)
	p := open(t, f.write(t))
	require.Equal(t, "gpt2", p.Data.Tokenizer)
	require.Empty(t, p.Source.Warnings)
}

// TestGPT2FolderWithItsOwnVocabulary: vocab.json and merges.txt come before GPT-2's own vocabulary,
// whose size the model may have, and may be smaller than the model's.
func TestGPT2FolderWithItsOwnVocabulary(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(reference("tokenizer"), "gpt2-digits", "tokenizer.json"))
	require.NoError(t, err)
	var file struct {
		Model struct {
			Vocab  map[string]int
			Merges []any
		}
	}
	require.NoError(t, json.Unmarshal(text, &file))
	for id := len(file.Model.Vocab); id < 50257; id++ {
		file.Model.Vocab[fmt.Sprintf("filler%d", id)] = id
	}
	vocab, err := json.Marshal(file.Model.Vocab)
	require.NoError(t, err)
	var merges strings.Builder
	for _, m := range file.Model.Merges {
		if pair, ok := m.([]any); ok {
			m = fmt.Sprint(pair[0], " ", pair[1])
		}
		fmt.Fprintln(&merges, m)
	}
	f := openForeign(t, gpt2)
	for _, size := range []int{50257, 50304} {
		f.config["vocab_size"] = size
		e := f.tensor("transformer.wte.weight")
		e.Shape, e.Data = []int{size, 24}, make([]float32, size*24)
		dir := f.write(t)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "vocab.json"), vocab, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "merges.txt"), []byte(merges.String()), 0o600))
		p := open(t, dir)
		require.Empty(t, p.Source.Warnings)
		_, again := exported(t, p)
		for _, m := range []*pretrained.Model{p, again} {
			tokenizer, err := m.Tokenizer()
			require.NoError(t, err)
			require.Equal(t, []int32{41, 84, 315, 221, 17, 18, 19, 20}, data.EncodePrompt(tokenizer, "It's 1234", nil), "by transformers 5.24")
			require.Zero(t, tokenizer.BOS())
		}
		for _, name := range []string{"merges.txt", "vocab.json"} {
			half := f.write(t)
			require.NoError(t, os.WriteFile(filepath.Join(half, name), vocab, 0o600))
			p := open(t, half)
			require.Empty(t, p.Data.Tokenizer, "another vocabulary than GPT-2's")
			require.Len(t, p.Source.Warnings, 1)
		}
	}
}

// TestMasksAreIgnored: a causal mask of BOOL, and other tensors that are no numbers of the model,
// do not keep it from being read; a parameter of such a type does.
func TestMasksAreIgnored(t *testing.T) {
	want := open(t, reference(gpt2))
	f := openForeign(t, gpt2)
	dir := f.write(t)
	path := filepath.Join(dir, "model.safetensors")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	with := func(tensors string) {
		n := binary.LittleEndian.Uint64(text)
		header := strings.Replace(strings.TrimSpace(string(text[8:8+n])), "{", "{"+tensors+",", 1)
		end := len(text) - 8 - int(n)
		header = strings.NewReplacer("BEGIN", strconv.Itoa(end), "END", strconv.Itoa(end+4)).Replace(header)
		file := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
		require.NoError(t, os.WriteFile(path, slices.Concat(file, text[8+n:], make([]byte, 4)), 0o600))
	}
	for _, tensors := range []string{
		`"transformer.h.0.attn.bias":{"dtype":"BOOL","shape":[1,1,2,2],"data_offsets":[BEGIN,END]}`,
		`"transformer.h.0.steps":{"dtype":"I8","shape":[4],"data_offsets":[BEGIN,END]}`,
	} {
		with(tensors)
		requireSame(t, want, open(t, dir), tensors)
	}
	f.remove("transformer.ln_f.bias")
	dir = f.write(t)
	path = filepath.Join(dir, "model.safetensors")
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	with(`"transformer.ln_f.bias":{"dtype":"I8","shape":[4],"data_offsets":[BEGIN,END]}`)
	requireRefused(t, dir, tensorNamed("transformer.ln_f.bias"))
}

func TestGPT2Refuses(t *testing.T) {
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
		{"quantized", set("quantization_config", map[string]any{"bits": 4}), setting("quantization_config")},
		{"no model type", func(f *foreign) { delete(f.config, "model_type") }, setting("model_type")},
		{"activation", set("activation_function", "relu"), setting("activation_function")},
		{"scale", set("scale_attn_weights", false), setting("scale_attn_weights")},
		{"cross-attention", set("add_cross_attention", true), setting("add_cross_attention")},
		{"untied without a head", set("tie_word_embeddings", false), tensorNamed("lm_head.weight")},
		{"eps", set("layer_norm_epsilon", 0), setting("layer_norm_epsilon")},
		{"large eps", set("layer_norm_epsilon", 2), setting("layer_norm_epsilon")},
		{"type of a size", set("n_embd", "24"), setting("n_embd")},
		{"fraction", set("n_layer", 1.5), setting("n_layer")},
		{"heads", set("n_head", 5), setting("n_head")},
		{"negative", set("n_layer", -1), setting("n_layer")},
		{"width", set("n_embd", 48), says(`model.safetensors: tensor "transformer.wte.weight": want shape [113 48] for the model of config.json, got [113 24]`)},
		{"huge width", set("n_embd", 3<<27), tensorNamed("transformer.wte.weight")},
		{"inner", set("n_inner", 95), tensorNamed("transformer.h.0.mlp.c_fc.weight")},
		{"huge inner", set("n_inner", 1<<30), tensorNamed("transformer.h.0.mlp.c_fc.weight")},
		{"width beyond bounds", set("n_embd", int64(3)<<58), setting("n_embd")},
		{"positions", set("n_positions", 1024), tensorNamed("transformer.wpe.weight")},
		{"too many layers", set("n_layer", 1<<30), tensorNamed("h.2.ln_1.weight")},
		{"too few layers", set("n_layer", 1), tensorNamed("h.1.attn.c_attn.bias")},
		{"missing", func(f *foreign) { f.remove("transformer.ln_f.bias") }, tensorNamed("ln_f.bias")},
		{"extra", func(f *foreign) { f.add("score.weight", []int{1}, []float32{1}) }, tensorNamed("score.weight")},
		{"twice", func(f *foreign) { f.add("ln_f.bias", []int{1}, []float32{1}) }, tensorNamed("ln_f.bias")},
		{"transposed", func(f *foreign) { f.tensor("transformer.h.1.attn.c_attn.weight").Shape = []int{72, 24} }, tensorNamed("transformer.h.1.attn.c_attn.weight")},
		{"doubles", func(f *foreign) { f.tensor("transformer.ln_f.bias").Data = make([]float64, 24) }, tensorNamed("transformer.ln_f.bias")},
		{"another head", head([]int{113, 24}, 1), says(`tensor "lm_head.weight": want the embedding, to which tie_word_embeddings ties it, got other values`)},
		{"shape of the head", head([]int{24, 113}, 0), tensorNamed("lm_head.weight")},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := openForeign(t, gpt2)
			c.change(f)
			requireRefused(t, f.write(t), c.want)
		})
	}
}
