package pretrained_test

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
	"github.com/residua-go/residua/stream"
)

const llama = "llama-hf"

// llamaLike returns the model in llama-hf.
func llamaLike() models.Config {
	return models.Config{
		Layers: 2, Vocab: 113, Seq: 64, Stream: stream.VectorConfig{Vectors: stream.Vectors{D: 24}},
		Attention:   models.Attention{Heads: 4, KVHeads: 2, HeadDim: 6, Positions: models.PositionsRoPE, RopeBase: 5000},
		FeedForward: layers.SwiGLUConfig{Hidden: 40}, Norm: models.NormRMS, NormEps: 1e-5,
	}
}

func TestOpenLlama(t *testing.T) {
	p := open(t, reference(llama))
	require.Equal(t, resolved(t, llamaLike()), p.Spec)
	require.Len(t, p.Source.Warnings, 1)
	require.Contains(t, p.Source.Warnings[0], "config.json: no tokenizer.json next to it")
	tokens, want := expected(t, llama)
	requireClose(t, want, logitsOf(t, p, tokens, 2), hfTolerance)
}

// TestEvaluateIDs: the score of token ids is the mean of -log p from transformers' logits.
func TestEvaluateIDs(t *testing.T) {
	p := open(t, reference(llama))
	tokens, logits := expected(t, llama)
	var want float64
	ids := []int32{int32(tokens[0])}
	for i := range 39 {
		row, sum, target := logits[i*113:(i+1)*113], 0.0, tokens[i+1]
		for _, z := range row {
			sum += math.Exp(float64(z))
		}
		want += (math.Log(sum) - float64(row[target])) / 39
		ids = append(ids, int32(target))
	}
	score, err := p.Evaluate(t.Context(), pretrained.EvaluateOptions{IDs: ids})
	require.NoError(t, err)
	require.Equal(t, 39, score.Tokens)
	require.InEpsilon(t, want, score.Loss, 1e-5)
	require.True(t, math.IsNaN(score.BitsPerByte), "nobody knows the bytes")
	_, err = p.Evaluate(t.Context(), pretrained.EvaluateOptions{IDs: []int32{1, 113}})
	setting("ids")(t, err)
	_, err = p.Evaluate(t.Context(), pretrained.EvaluateOptions{IDs: ids, Data: []string{"x"}})
	setting("ids")(t, err)
}

// Transformers before version 5 wrote the positions elsewhere; a file of the model without a head
// has no prefix; old files hold wavelengths; missing or null keys have transformers' defaults.
func TestLlamaSpellings(t *testing.T) {
	want := open(t, reference(llama))
	for name, change := range map[string]func(*foreign){
		"published": func(f *foreign) {
			delete(f.config, "rope_parameters")
			f.config["rope_theta"], f.config["rope_scaling"] = 5000, nil
		},
		"default scaling": func(f *foreign) {
			delete(f.config, "rope_parameters")
			f.config["rope_theta"], f.config["rope_scaling"] = 5000, map[string]any{"type": "default"}
		},
		"no prefix, wavelengths": func(f *foreign) {
			for i := range f.tensors {
				f.tensors[i].Name = strings.TrimPrefix(f.tensors[i].Name, "model.")
			}
			f.add("layers.0.self_attn.rotary_emb.inv_freq", []int{3}, []float32{1, .5, .25})
		},
		"defaults": func(f *foreign) {
			for _, key := range []string{"hidden_act", "attention_bias", "mlp_bias", "tie_word_embeddings"} {
				delete(f.config, key)
			}
			f.config["head_dim"] = nil
		},
	} {
		f := openForeign(t, llama)
		change(f)
		requireSame(t, want, open(t, f.write(t)), name)
	}
	f := openForeign(t, llama)
	delete(f.config, "rope_parameters")
	require.InDelta(t, 10000, open(t, f.write(t)).Spec.Attention.RopeBase, 0)
}

// requireSame checks for the same parameters and the same function of them.
func requireSame(t *testing.T, want, got *pretrained.Model, name string) {
	require.NoError(t, want.Spec.SameModel(got.Spec), name)
	require.Len(t, got.Store.Params(), len(want.Store.Params()), name)
	for _, p := range want.Store.Params() {
		require.Equal(t, p.Value.Float32s(), got.Store.Param(p.Name).Value.Float32s(), "%s: %s", name, p.Name)
	}
}

// Without num_key_value_heads, each head has its own keys and values.
func TestLlamaWithoutGroups(t *testing.T) {
	f := openForeign(t, llama)
	f.config["num_key_value_heads"] = nil
	for _, layer := range []string{"0", "1"} {
		for _, name := range []string{"k_proj", "v_proj"} { // [2*6, 24]: repeating each head's rows gives the same function
			w := f.tensor("model.layers." + layer + ".self_attn." + name + ".weight")
			rows, head := w.Data.([]float32), 6*24
			w.Shape = []int{24, 24}
			w.Data = slices.Concat(rows[:head], rows[:head], rows[head:], rows[head:])
		}
	}
	p := open(t, f.write(t))
	require.Equal(t, 4, p.Spec.Shape().KVHeads)
	tokens, want := expected(t, llama)
	requireClose(t, want, logitsOf(t, p, tokens, 2), hfTolerance)
}

// A tied model's file may hold the head, if it equals the embedding.
func TestLlamaTied(t *testing.T) {
	f := openForeign(t, llama)
	f.config["tie_word_embeddings"] = true
	requireRefused(t, f.write(t), says(`tensor "lm_head.weight": want the embedding, to which tie_word_embeddings ties it, got other values`))
	f.tensor("lm_head.weight").Data = f.tensor("model.embed_tokens.weight").Data
	with := open(t, f.write(t))
	require.True(t, with.Spec.TieEmbeddings)
	f.remove("lm_head.weight")
	requireSame(t, with, open(t, f.write(t)), "without a head")
	f.config["tie_word_embeddings"] = false
	requireRefused(t, f.write(t), tensorNamed("lm_head.weight"))
}

func TestLlamaRefuses(t *testing.T) {
	set := func(key string, value any) func(*foreign) { return func(f *foreign) { f.config[key] = value } }
	rope := func(key string, value any) func(*foreign) {
		return func(f *foreign) { f.config["rope_parameters"].(map[string]any)[key] = value }
	}
	only := func(scaling map[string]any) func(*foreign) { // as before transformers 5
		return func(f *foreign) {
			delete(f.config, "rope_parameters")
			f.config["rope_scaling"] = scaling
		}
	}
	for _, c := range []struct {
		name   string
		change func(*foreign)
		want   check
	}{
		{"gemma", set("model_type", "gemma"), says(`config.json: model_type: want one of [gpt2 llama qwen3 mistral qwen2 gpt_neox gemma2 gemma3_text olmo2 smollm3 granite phi3 nanochat residua], got "gemma"`)},
		{"gemma", set("model_type", "gemma3"), setting("model_type")},
		{"activation", set("hidden_act", "gelu"), says(`config.json: hidden_act: want silu, got "gelu"`)},
		{"attention bias", set("attention_bias", true), tensorNamed("layers.0.self_attn.q_proj.bias")},
		{"mlp bias", set("mlp_bias", true), tensorNamed("layers.0.mlp.gate_proj.bias")},
		{"scaled positions", rope("rope_type", "dynamic"), says(`rope_parameters.rope_type: want default, linear, llama3, yarn or longrope, got "dynamic": other scaled positions are not built`)},
		{"published scaling", set("rope_scaling", map[string]any{"type": "dynamic", "factor": 2}), setting("rope_scaling.type")},
		{"new name in published scaling", set("rope_scaling", map[string]any{"rope_type": "dynamic"}), setting("rope_scaling.rope_type")},
		{"scaling without a factor", only(map[string]any{"rope_type": "linear"}), setting("rope_scaling.factor")},
		{"scaling without its rows", only(map[string]any{"rope_type": "llama3", "factor": 8}), setting("rope_scaling.original_max_position_embeddings")},
		{"DeepSeek's scaling", set("rope_scaling", map[string]any{"rope_type": "yarn", "factor": 8, "mscale": 0.7}), setting("rope_scaling.mscale")},
		{"scaling between pairs", set("rope_scaling", map[string]any{"rope_type": "yarn", "factor": 8, "truncate": false}), setting("rope_scaling.truncate")},
		{"two names of a type", only(map[string]any{"type": "linear", "rope_type": "llama3", "factor": 8}), setting("rope_scaling.type")},
		{"published and present scaling", set("rope_scaling", map[string]any{"rope_type": "linear", "factor": 8}), setting("rope_parameters.rope_type")},
		{"published and present base", set("rope_theta", 12345), setting("rope_parameters.rope_theta")},
		{"partial positions", rope("partial_rotary_factor", 0.5), setting("partial_rotary_factor")},
		{"partial positions outside", set("partial_rotary_factor", 0.5), setting("partial_rotary_factor")},
		{"base", rope("rope_theta", 0), setting("rope_parameters.rope_theta")},
		{"published base", func(f *foreign) { delete(f.config, "rope_parameters"); f.config["rope_theta"] = -1 }, setting("rope_theta")},
		{"eps", set("rms_norm_eps", 0), setting("rms_norm_eps")},
		{"large eps", set("rms_norm_eps", 3), setting("rms_norm_eps")},
		{"type of a size", set("hidden_size", "24"), setting("hidden_size")},
		{"type of the positions", set("rope_parameters", []int{1}), setting("rope_parameters")},
		{"negative", set("num_hidden_layers", -1), setting("num_hidden_layers")},
		{"no heads", set("num_attention_heads", 0), setting("num_attention_heads")},
		{"no heads of keys", set("num_key_value_heads", 0), setting("num_key_value_heads")},
		{"heads of keys", set("num_key_value_heads", 3), setting("num_key_value_heads")},
		{"no head dimension", set("head_dim", 0), setting("head_dim")},
		{"odd head dimension", set("head_dim", 5), setting("head_dim")},
		{"no hidden layer", set("intermediate_size", 0), setting("intermediate_size")},
		{"no vocabulary", set("vocab_size", 0), setting("vocab_size")},
		{"huge width", set("hidden_size", int64(1)<<40), setting("hidden_size")},
		{"head dimension", set("head_dim", 8), says(`model.safetensors: tensor "model.layers.0.self_attn.q_proj.weight": want shape [32 24] for the model of config.json, got [24 24]`)},
		{"hidden layer", set("intermediate_size", 41), tensorNamed("model.layers.0.mlp.gate_proj.weight")},
		{"too many layers", set("num_hidden_layers", 1<<30), tensorNamed("layers.2.input_layernorm.weight")},
		{"too few layers", set("num_hidden_layers", 1), tensorNamed("layers.1.input_layernorm.weight")},
		{"missing", func(f *foreign) { f.remove("model.layers.1.self_attn.v_proj.weight") }, tensorNamed("layers.1.self_attn.v_proj.weight")},
		{"extra", func(f *foreign) { f.add("model.layers.0.self_attn.q_proj.bias", []int{24}, make([]float32, 24)) }, tensorNamed("layers.0.self_attn.q_proj.bias")},
		{"norms of another model", func(f *foreign) { f.add("model.layers.0.self_attn.q_norm.weight", []int{6}, make([]float32, 6)) }, tensorNamed("layers.0.self_attn.q_norm.weight")},
		{"transposed", func(f *foreign) { f.tensor("model.layers.1.mlp.down_proj.weight").Shape = []int{40, 24} }, tensorNamed("model.layers.1.mlp.down_proj.weight")},
		{"whole numbers", func(f *foreign) { f.tensor("lm_head.weight").Data = make([]int32, 113*24) }, says(`tensor "lm_head.weight": want F32, F16 or BF16 elements, got I32`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := openForeign(t, llama)
			c.change(f)
			requireRefused(t, f.write(t), c.want)
		})
	}
}

// TestHuggingFaceOwnTokenizer: the model uses the folder's tokenizer.json, if it can be read and
// does not have too many ids.
func TestHuggingFaceOwnTokenizer(t *testing.T) {
	f := openForeign(t, llama)
	f.config["bos_token_id"] = 0
	dir := f.write(t)
	copyTokenizer(t, dir)
	p := open(t, dir)
	require.Empty(t, p.Data.Tokenizer)
	require.Len(t, p.Source.Warnings, 1)
	require.Contains(t, p.Source.Warnings[0], "has 600 ids, the model's vocabulary 113")

	f.config["vocab_size"] = 600
	for _, name := range []string{"model.embed_tokens.weight", "lm_head.weight"} {
		w := f.tensor(name)
		w.Shape, w.Data = []int{600, 24}, make([]float32, 600*24)
	}
	dir = f.write(t)
	copyTokenizer(t, dir)
	p = open(t, dir)
	require.Empty(t, p.Source.Warnings)
	tokenizer, err := p.Tokenizer()
	require.NoError(t, err)
	require.Equal(t, "naïve text", tokenizer.Decode(tokenizer.Encode(nil, "naïve text")))
	score, err := p.Evaluate(t.Context(), pretrained.EvaluateOptions{Data: []string{filepath.Join(dir, "config.json")}})
	require.NoError(t, err)
	require.InEpsilon(t, math.Log(600), score.Loss, 1e-5, "logits are zero")

	delete(f.config, "bos_token_id")
	dir = f.write(t)
	copyTokenizer(t, dir)
	p = open(t, dir)
	require.Empty(t, p.Data.Tokenizer)
	require.Contains(t, p.Source.Warnings[0], "in tokenizer_config.json, got none: text cannot be encoded, want token ids as prompt")
	require.Equal(t, checkpoint.Kind("huggingface"), p.Source.Kind)
}
