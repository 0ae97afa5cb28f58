package pretrained

import (
	"encoding/json"
	"io"
	"os"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
)

// Wants describes the file.
func (gguf) Wants() string { return "a GGUF file" }

// Recognises tells whether the file begins as a GGUF file does.
func (gguf) Recognises(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var lead [4]byte
	_, err = io.ReadFull(f, lead[:])
	return err == nil && string(lead[:]) == "GGUF"
}

// ggufConfigs says, for each architecture that is read from GGUF, which keys of config.json its
// keys are; each line has both.
const (
	llamaGGUFConfig = `context_length             max_position_embeddings
embedding_length                   hidden_size
feed_forward_length                intermediate_size
block_count                        num_hidden_layers
attention.head_count               num_attention_heads
attention.head_count_kv            num_key_value_heads
attention.key_length               head_dim
rope.freq_base                     rope_theta
attention.layer_norm_rms_epsilon   rms_norm_eps
`
	gpt2GGUFConfig = `context_length              n_positions
embedding_length                   n_embd
feed_forward_length                n_inner
block_count                        n_layer
attention.head_count               n_head
attention.layer_norm_epsilon       layer_norm_epsilon
`
)

// Import reads the file of a GPT-2, a Llama, a Qwen2 or 3, or an OLMo 2, whose tensors are F32,
// F16, BF16 or Q8_0. Its tokenizer is not read: prompts are token ids, with a warning.
func (gguf) Import(zoo models.Zoo, path string) (*Model, error) {
	file, err := checkpoint.ReadGGUF(path)
	if err != nil {
		return nil, err
	}
	m := &Model{}
	m.Source.ModelPath, m.Data = path, runconfig.Data{TextField: runconfig.Defaults().Data.TextField}
	a, config, err := ggufConfig(zoo, file)
	if err == nil {
		m.Spec, err = a.spec(config)
	}
	if err == nil {
		m.Store, err = a.ggufStore(m.Spec, file.Tensors)
	}
	if err != nil {
		return nil, errors.Wrap(err, path)
	}
	m.Special = ggufIDs(file)
	m.Source.Warnings = append(m.Source.Warnings, path+": the tokenizer of a GGUF file is not read: text cannot be encoded, want token ids as prompt")
	return m, nil
}

// ggufConfig returns the architecture of a file, and its config.json.
func ggufConfig(zoo models.Zoo, file *checkpoint.GGUF) (Architecture, []byte, error) {
	name, _ := file.Values["general.architecture"].(string)
	tables := map[string]string{"gpt2": gpt2GGUFConfig, "llama": llamaGGUFConfig, "qwen2": llamaGGUFConfig, "qwen3": llamaGGUFConfig, "olmo2": llamaGGUFConfig}
	table, known := tables[name]
	if !known {
		return Architecture{}, nil, errors.Errorf("general.architecture: want gpt2, llama, qwen2, qwen3 or olmo2, got %q: others are not read from GGUF", name)
	}
	a, err := models.Find("architecture", architectures(zoo), name)
	if err != nil {
		return a, nil, err
	}
	config := map[string]any{"vocab_size": 0, "tie_word_embeddings": true, "attention_bias": false, "mlp_bias": false}
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if v, ok := file.Values[name+"."+f[0]]; ok {
			config[f[1]] = v
		}
	}
	for _, key := range []string{"rope.scaling.type", "attention.sliding_window", "expert_count"} {
		if v, ok := file.Values[name+"."+key]; ok && v != "none" && v != uint64(0) {
			return a, nil, errors.Errorf("%s.%s: want none, got %v: it is not read from GGUF", name, key, v)
		}
	}
	for _, t := range file.Tensors {
		switch t.Name {
		case "token_embd.weight":
			config["vocab_size"] = t.Shape[0]
		case "output.weight":
			config["tie_word_embeddings"] = false
		case "blk.0.attn_output.bias":
			config["attention_bias"] = name == "llama"
		case "blk.0.ffn_up.bias":
			config["mlp_bias"] = name == "llama"
		}
	}
	text, err := json.Marshal(config)
	return a, text, errors.WithStack(err)
}

// ggufStore returns a Store with a file's tensors. Llama's rotated rows are put back in order.
func (a Architecture) ggufStore(spec models.Spec, tensors []checkpoint.Tensor) (*graph.Store, error) {
	given := map[string]checkpoint.Tensor{}
	for _, t := range tensors {
		given[t.Name] = t
	}
	values, err := a.ggufLayout(spec).read(given)
	if err != nil {
		return nil, err
	}
	plan, err := planOf(spec)
	if err != nil {
		return nil, err
	}
	return fill(plan, values)
}

// ggufIDs returns the tokens that begin, end and fill texts.
func ggufIDs(file *checkpoint.GGUF) (ids data.SpecialIDs) {
	id := func(key string) *int32 {
		if n, ok := file.Values["tokenizer.ggml."+key+"_token_id"].(uint64); ok && n < 1<<31 {
			id := int32(n)
			return &id
		}
		return nil
	}
	ids.BOS, ids.Pad = id("bos"), id("padding")
	for _, key := range []string{"eos", "eot", "eom"} {
		if n := id(key); n != nil {
			ids.EOS = append(ids.EOS, *n)
		}
	}
	return ids
}
