package pretrained

import (
	"fmt"
	"io"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/models"
)

// ggufForm is an architecture as llama.cpp has it in GGUF files.
type ggufForm struct {
	eps        string // key of the norms' epsilon
	neighbours bool   // rotary positions turn neighbouring rows of a head, where those of Hugging Face's turn rows half a head apart
	check      func(models.Spec) error
}

// gpt2GGUF wants what llama.cpp's GPT-2 computes.
func gpt2GGUF(c models.Spec) error {
	switch {
	case c.Attention.InverseLayerScaling:
		return errors.New("gguf: model.attention.inverse_layer_scaling: want false for llama.cpp's gpt2, got true")
	case c.Gelu != models.GeluTanh:
		return errors.Errorf("gguf: model.gelu: want %s for llama.cpp's gpt2, got %s", models.GeluTanh, c.Gelu)
	}
	return nil
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
	tensors, err := a.ggufTensors(m)
	if err != nil {
		return err
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

// ggufTensors are the model's parameters as GGUF has them, linear maps [out, in].
func (a architecture) ggufTensors(m *Model) ([]checkpoint.Tensor, error) {
	if err := m.Store.ToHost(); err != nil {
		return nil, err
	}
	l := a.layout(m.Spec)
	for i := range l.rows {
		r := &l.rows[i]
		r.theirs = r.gguf
		switch {
		case a.gguf.neighbours && r.axes == "DQ":
			r.axes, r.theirAxes = "DH2e", "He2D"
		case a.gguf.neighbours && r.axes == "DK":
			r.axes, r.theirAxes = "DG2e", "Ge2D"
		case len(r.axes) == 2 && r.axes != "VD" && r.axes != "TD":
			r.theirAxes = r.axes[1:] + r.axes[:1]
		}
	}
	tensors, err := l.write(m.Store)
	for i, t := range tensors {
		if last := len(t.Shape) - 1; last > 1 {
			tensors[i].Shape = []int{len(t.Data.([]float32)) / t.Shape[last], t.Shape[last]}
		}
	}
	return tensors, err
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
