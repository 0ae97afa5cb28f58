package pretrained

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/models"
)

// ggufForm is an architecture as llama.cpp has it in GGUF files, whose tensors are those of a Hugging Face folder by other
// names.
type ggufForm struct {
	names   map[string]string // of tensors; of those of a block without its prefix
	turned  []string          // tensors that are [in, out] in the folder and [out, in] here
	queries string            // the tensor of queries, and of keys, whose rows llama.cpp's rotary positions want in another
	keys    string            // order; "": as they are
	check   func(models.Spec) error
	eps     string // key of the norms' epsilon
}

// gpt2GGUF is GPT-2's. llama.cpp computes GELU by tanh alone.
func gpt2GGUF() *ggufForm {
	return &ggufForm{
		names: map[string]string{"wte": "token_embd", "wpe": "position_embd", "ln_f": "output_norm", "lm_head": "output",
			"ln_1": "attn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "ln_2": "ffn_norm", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"},
		turned: []string{"attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"}, eps: "attention.layer_norm_epsilon",
		check: func(c models.Spec) error {
			switch {
			case c.Attention.InverseLayerScaling:
				return errors.New("gguf: model.attention.inverse_layer_scaling: want false for llama.cpp's gpt2, got true")
			case c.Gelu != models.GeluTanh:
				return errors.Errorf("gguf: model.gelu: want %s for llama.cpp's gpt2, got %s", models.GeluTanh, c.Gelu)
			}
			return nil
		},
	}
}

// qwen3GGUF is Qwen3's.
func qwen3GGUF() *ggufForm {
	return &ggufForm{
		names: map[string]string{"embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output",
			"input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
			"self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
			"post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"},
		eps: "attention.layer_norm_rms_epsilon",
	}
}

// llamaGGUF is Llama's, whose rotary positions turn neighbouring entries in llama.cpp.
func llamaGGUF() *ggufForm {
	g := qwen3GGUF()
	g.queries, g.keys = "self_attn.q_proj", "self_attn.k_proj"
	return g
}

// GGUFOptions say how a GGUF file is written.
type GGUFOptions struct {
	Half     bool // matrices as F16, rounded to the nearest, but for tables of positions
	IDsAlone bool // writes a model without a tokenizer, too, which llama.cpp's server cannot open
}

// ExportGGUF writes the model as a GGUF file, which llama.cpp reads: a GPT-2, a Llama or a Qwen3 by its names, conventions
// and metadata, with the tokenizer if the model has one. An error of another model names the option. The file is replaced
// whole or, with an error, not at all.
func (m *Model) ExportGGUF(path string, o GGUFOptions) error {
	a, err := m.ggufArchitecture()
	if err != nil {
		return err
	}
	metadata, err := m.ggufMetadata(a, o)
	if err != nil {
		return err
	}
	tensors, err := a.tensors(m)
	if err != nil {
		return err
	}
	for i, t := range tensors {
		if tensors[i], err = a.ggufTensor(m.Spec, t); err != nil {
			return err
		}
	}
	half := func(t checkpoint.Tensor) bool {
		return o.Half && len(t.Shape) > 1 && !strings.HasPrefix(t.Name, "position_embd")
	}
	return checkpoint.WriteFileAtomic(path, func(w io.Writer) error { return checkpoint.EncodeGGUF(w, metadata, tensors, half) })
}

// ggufArchitecture is that which the model is one of and llama.cpp has.
func (m *Model) ggufArchitecture() (architecture, error) {
	var problems []string
	for _, a := range architectures() {
		if a.gguf == nil {
			continue
		}
		err := a.fits(m.Spec)
		if err == nil && a.gguf.check != nil {
			return a, a.gguf.check(m.Spec)
		}
		if err == nil {
			return a, nil
		}
		problems = append(problems, err.Error())
	}
	return architecture{}, errors.Errorf("gguf: want a GPT-2, a Llama or a Qwen3: %s", strings.Join(problems, "; "))
}

// ggufBlock is the prefix of a block's tensor in a Hugging Face folder.
var ggufBlock = regexp.MustCompile(`^(?:h|layers)\.(\d+)\.(.*)$`)

// ggufTensor is a tensor of a Hugging Face folder as GGUF has it.
func (a architecture) ggufTensor(c models.Spec, t checkpoint.Tensor) (checkpoint.Tensor, error) {
	name, block := strings.TrimPrefix(t.Name, a.prefix), ""
	if found := ggufBlock.FindStringSubmatch(name); found != nil {
		block, name = "blk."+found[1]+".", found[2]
	}
	dot := strings.LastIndex(name, ".")
	name, kind := name[:dot], name[dot:] // .weight or .bias
	theirs, ok := a.gguf.names[name]
	if !ok {
		return t, tensorErrorf(t.Name, "want one with a name in llama.cpp's %s", a.name)
	}
	t.Name = block + theirs + kind
	values := t.Data.([]float32)
	switch {
	case slices.Contains(a.gguf.turned, name) && len(t.Shape) == 2:
		rows, columns := t.Shape[0], t.Shape[1]
		t.Shape, t.Data = []int{columns, rows}, make([]float32, len(values))
		transpose(t.Data.([]float32), rows, values, columns, rows, columns)
	case name == a.gguf.queries || name == a.gguf.keys:
		t.Data = interleaved(values, c.HeadDim(), t.Shape[1])
	}
	return t, nil
}

// interleaved are the rows of each head, of so many, in another order: row i and row i + half, which turn together by
// Hugging Face's convention, become rows 2i and 2i+1.
func interleaved(from []float32, head, columns int) []float32 {
	to := make([]float32, len(from))
	for row := range len(from) / columns {
		h, r := row/head, row%head
		i, second := r%(head/2), r/(head/2)
		copy(to[(h*head+2*i+second)*columns:][:columns], from[row*columns:][:columns])
	}
	return to
}

// ggufMetadata is what llama.cpp wants to know of the model.
func (m *Model) ggufMetadata(a architecture, o GGUFOptions) ([]checkpoint.GGUFEntry, error) {
	c := m.Spec
	entry := func(key string, value any) checkpoint.GGUFEntry { return checkpoint.GGUFEntry{Key: key, Value: value} }
	number := func(key string, n int) checkpoint.GGUFEntry { return entry(a.name+"."+key, uint32(n)) }
	all := []checkpoint.GGUFEntry{
		entry("general.architecture", a.name), entry("general.name", "residua "+a.name), entry("general.file_type", map[bool]uint32{true: 1}[o.Half]),
		number("vocab_size", c.Vocab), number("context_length", c.Seq), number("embedding_length", c.Width()), number("block_count", c.Layers),
		number("feed_forward_length", c.FeedForwardShape().Hidden), number("attention.head_count", c.HeadCount()),
		number("attention.head_count_kv", c.KVHeads()), entry(a.name+"."+a.gguf.eps, float32(c.NormEps)),
	}
	if got := c.Attention.RopeScaling.Type; got != "" {
		return nil, errors.Errorf("gguf: model.attention.rope_scaling.type: want nothing, got %s: scaled positions are not written", got)
	}
	if c.Attention.Positions == models.PositionsRoPE {
		all = append(all, number("attention.key_length", c.HeadDim()), number("attention.value_length", c.HeadDim()),
			number("rope.dimension_count", c.HeadDim()), entry(a.name+".rope.freq_base", float32(c.Attention.RopeBase)))
	}
	switch {
	case m.Data.Tokenizer == "" && !o.IDsAlone:
		return nil, errors.New("gguf: want a model with a tokenizer, got one of token ids alone, which llama.cpp's server cannot open")
	case m.Data.Tokenizer == "":
		return append(all, entry("tokenizer.ggml.model", "none")), nil
	}
	return m.ggufTokenizer(all)
}

// ggufTokenizer appends the tokenizer. Ids that the model has and the tokenizer has not are named unused ones.
func (m *Model) ggufTokenizer(all []checkpoint.GGUFEntry) ([]checkpoint.GGUFEntry, error) {
	const normal, control, unused = 1, 3, 5
	t, err := m.Tokenizer()
	if err != nil {
		return nil, err
	}
	v, err := data.Vocabulary(m.Data.Tokenizer)
	if err != nil {
		return nil, err
	}
	if v.Pieces == "" {
		return nil, errors.Errorf("gguf: %s: want text cut by a rule that llama.cpp has, got digits in groups", m.Data.Tokenizer)
	}
	kinds := make([]int32, m.Spec.Vocab)
	tokens := make([]string, m.Spec.Vocab)
	for id := range tokens {
		tokens[id], kinds[id] = fmt.Sprintf("[unused%d]", id), unused
		if id < len(v.Tokens) && v.Tokens[id] != "" {
			tokens[id], kinds[id] = v.Tokens[id], normal
			if v.Special[id] {
				kinds[id] = control
			}
		}
	}
	bos := uint32(t.BOS())
	for _, e := range []checkpoint.GGUFEntry{{Key: "model", Value: "gpt2"}, {Key: "pre", Value: v.Pieces}, {Key: "tokens", Value: tokens},
		{Key: "token_type", Value: kinds}, {Key: "merges", Value: v.Merges}, {Key: "bos_token_id", Value: bos}, {Key: "eos_token_id", Value: bos},
		{Key: "add_bos_token", Value: true}} {
		all = append(all, checkpoint.GGUFEntry{Key: "tokenizer.ggml." + e.Key, Value: e.Value})
	}
	return all, nil
}
