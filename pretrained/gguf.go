package pretrained

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

// GGUFForm describes an architecture in llama.cpp's GGUF files.
type GGUFForm struct {
	Name       string // llama.cpp's name; "": Architecture.Type
	Neighbours bool   // rotary positions rotate pairs of neighbouring rows of a head, not of rows half a head apart as in Hugging Face's files
	Windows    bool   // it has attention windows
	// Check returns an error for a model that llama.cpp cannot compute; nil: it can compute all.
	Check func(models.Spec) error
}

// ggufKeys is the table of metadata: a key after the architecture's name; the field that configKey
// calls ours or, after =, the key of config.json that has it; and what it is in GGUF: an integer
// (i), a float (f), a bool (b), a text that is written if it is not the class's default (s), or a
// key that is read but not written (-). An architecture has those whose fields are in its own
// table.
const ggufKeys = `context_length           seq                   i
embedding_length                 stream.d_model        i
feed_forward_length              feedforward.hidden    i
block_count                      layers                i
attention.head_count             attention.heads       i
attention.head_count_kv          attention.kv_heads    i
attention.key_length             attention.head_dim    i
attention.value_length           attention.head_dim    i
attention.layer_norm_epsilon     norm_eps              f
attention.layer_norm_rms_epsilon norm_eps              f
use_parallel_residual            parallel              b
residual_scale                   residual_scale        f
embedding_scale                  embedding_scale       f
attention.scale                  attention.scale       f
attn_logit_softcapping           attention.softcap     f
final_logit_softcapping          logit_softcap         f
logit_scale                      =logits_scaling       f
rope.freq_base                   =rope_theta           f
rope.freq_base                   =rotary_emb_base      f
rope.freq_base_swa               =rope_local_base_freq -
attention.sliding_window         =sliding_window       i
hidden_act                       =hidden_act           s
`

// ggufKey is a key of a GGUF file's metadata, after the architecture's name, and one of
// config.json.
type ggufKey struct{ gguf, config, kind string }

// ggufKeys returns the rows of the table that an architecture may have.
func (a Architecture) ggufKeys() (keys []ggufKey) {
	for line := range strings.Lines(ggufKeys) {
		f := strings.Fields(line)
		name, known := strings.CutPrefix(f[1], "=")
		for _, k := range a.configKeys() {
			if !known && k.ours == name {
				name, known = k.name, true
			}
		}
		if known {
			keys = append(keys, ggufKey{f[0], name, f[2]})
		}
	}
	return keys
}

// name returns llama.cpp's name of the architecture.
func (f GGUFForm) name(a Architecture) string { return cmp.Or(f.Name, a.Type) }

// gguf is the file format of llama.cpp.
type gguf struct{}

// ggufType is a type in which matrices can be written.
type ggufType struct {
	name     string // value of -type
	elements checkpoint.GGUFType
	file     uint32 // llama.cpp's number for a file whose matrices have this type
}

// ggufTypes returns the types in addition to f32.
func ggufTypes() []ggufType {
	return []ggufType{{"f16", checkpoint.GGUFF16, 1}, {"bf16", checkpoint.GGUFBF16, 32}, {"q8_0", checkpoint.GGUFQ8, 7}}
}

// ggufTypeNamed returns the type with that name, or F32 if the name is unknown.
func ggufTypeNamed(name string) ggufType {
	for _, t := range ggufTypes() {
		if t.name == name {
			return t
		}
	}
	return ggufType{"f32", checkpoint.GGUFF32, 0}
}

// of returns the type in which a tensor is written: gains, biases and tables of positions stay F32,
// and matrices whose rows are not multiples of Q8_0's blocks are F16.
func (g ggufType) of(t checkpoint.Tensor) checkpoint.GGUFType {
	switch last := len(t.Shape) - 1; {
	case last < 1 || strings.HasPrefix(t.Name, "position_embd"):
		return checkpoint.GGUFF32
	case g.elements == checkpoint.GGUFQ8 && t.Shape[last]%checkpoint.Q8Block != 0:
		return checkpoint.GGUFF16
	}
	return g.elements
}

// Name returns "gguf".
func (gguf) Name() string { return "gguf" }

// Format describes a file whose matrices may be F16, BF16 or Q8_0, except tables of positions.
func (gguf) Format() Format {
	f := Format{Help: "one file that llama.cpp reads, of an architecture that it has; with -type f16, bf16 or q8_0 matrices are rounded to that"}
	for _, t := range ggufTypes() {
		f.Types = append(f.Types, t.name)
	}
	return f
}

// Export writes the model with llama.cpp's names, conventions and metadata, with the tokenizer if
// the model has one.
func (gguf) Export(m *Model, path string, o ExportOptions) (notes []string, err error) {
	a, err := m.ggufArchitecture()
	if err != nil {
		return nil, err
	}
	metadata, err := m.ggufMetadata(a, o)
	if err != nil {
		return nil, err
	}
	tensors, err := a.ggufTensors(m)
	if err != nil {
		return nil, err
	}
	return nil, o.Disk.WriteFileAtomic(path, func(w io.Writer) error { return checkpoint.EncodeGGUF(w, metadata, tensors, ggufTypeNamed(o.Type).of) })
}

// ggufArchitecture returns the architecture that fits the model and that llama.cpp supports.
func (m *Model) ggufArchitecture() (Architecture, error) {
	a, problems := firstFitting(slices.DeleteFunc(architectures(m.Zoo), func(a Architecture) bool { return a.GGUF == nil }), m.Spec)
	if problems != "" {
		return a, errors.Errorf("gguf: want an architecture that llama.cpp has: %s", problems)
	}
	return a, nil
}

// ggufTensors returns the model's parameters with GGUF's names and axes; linear maps are [out,
// in].
func (a Architecture) ggufTensors(m *Model) ([]checkpoint.Tensor, error) {
	if err := m.Store.ToHost(); err != nil {
		return nil, err
	}
	return a.ggufLayout(m.Spec).write(m.Store)
}

// ggufLayout returns the layout of a GGUF file.
func (a Architecture) ggufLayout(spec models.Spec) layout {
	l := a.layout(spec)
	l.GainsLess1, l.from = false, "the metadata"
	for i := range l.rows {
		r := &l.rows[i]
		r.theirs = r.gguf
		switch {
		case a.GGUF.Neighbours && r.axes == "DQ":
			r.axes, r.theirAxes = "DH2e", "(He2)D"
		case a.GGUF.Neighbours && r.axes == "DK":
			r.axes, r.theirAxes = "DG2e", "(Ge2)D"
		case a.GGUF.Neighbours && r.axes == "Q":
			r.axes, r.theirAxes = "H2e", "(He2)"
		case a.GGUF.Neighbours && r.axes == "K":
			r.axes, r.theirAxes = "G2e", "(Ge2)"
		case strings.HasPrefix(r.theirAxes, "("):
			matrix := r.axes[0] == 'D'
			r.theirAxes = "(" + strings.TrimPrefix(r.axes, "D") + ")"
			if matrix {
				r.theirAxes += "D"
			}
		case len(r.axes) == 2 && r.axes != "VD" && r.axes != "TD":
			r.theirAxes = r.axes[1:] + r.axes[:1]
		}
	}
	return l
}

// ggufMetadata returns what llama.cpp needs to know about the model. It does not write the model's
// own name, because llama.cpp looks for certain tokens by the names of some models, and fails
// without them.
func (m *Model) ggufMetadata(a Architecture, o ExportOptions) ([]checkpoint.GGUFEntry, error) {
	c, kind, arch := m.Spec, ggufTypeNamed(o.Type), a.GGUF.name(a)
	entry := func(key string, value any) checkpoint.GGUFEntry { return checkpoint.GGUFEntry{Key: key, Value: value} }
	all := []checkpoint.GGUFEntry{
		entry("general.architecture", arch), entry("general.name", "residua"), entry("general.file_type", kind.file), entry(arch+".vocab_size", uint32(c.Vocab)),
	}
	if kind.elements == checkpoint.GGUFQ8 {
		all = append(all, entry("general.quantization_version", uint32(2)))
	}
	scaling := c.Attention.RopeScaling
	switch {
	case c.Attention.Kind != nil && !a.GGUF.Windows:
		return nil, errors.Errorf("gguf: model.attention.kind: want %s, got %s: other attention is not written", layers.DefaultAttention().Name(),
			c.Attention.Kind.Name())
	case scaling.Type == layers.RopeLinear:
		all = append(all, entry(arch+".rope.scaling.type", scaling.Type), entry(arch+".rope.scaling.factor", float32(scaling.Factor)))
	case scaling.Type != "":
		return nil, errors.Errorf("gguf: model.attention.rope_scaling.type: want linear or nothing, got %s: other scaled positions are not written", scaling.Type)
	}
	if c.Attention.Positions == models.PositionsRoPE {
		rotated := c.HeadDim()
		if part := c.Attention.RopePart; part != 0 {
			rotated = 2 * layers.RotatedPairs(part, rotated)
		}
		all = append(all, entry(arch+".rope.dimension_count", uint32(rotated)))
	}
	if a.GGUF.Check != nil {
		if err := a.GGUF.Check(c); err != nil {
			return nil, err
		}
	}
	values, err := a.ggufValues(c)
	if err != nil {
		return nil, err
	}
	all = append(all, values...)
	switch {
	case m.Data.Tokenizer == "" && !o.IDsAlone:
		return nil, errors.New("gguf: want a model with a tokenizer, got one of token ids alone, which llama.cpp's server cannot open")
	case m.Data.Tokenizer == "":
		return append(all, entry("tokenizer.ggml.model", "none")), nil
	}
	return m.ggufTokenizer(all)
}

// ggufValues returns the values of ggufKeys, by the model's config.json.
func (a Architecture) ggufValues(spec models.Spec) (all []checkpoint.GGUFEntry, err error) {
	text, err := json.Marshal(a.config(spec))
	if err != nil {
		return nil, errors.WithStack(err)
	}
	var config, defaults map[string]any
	if err := cmp.Or(unmarshal(text, &config), unmarshal([]byte(cmp.Or(a.Defaults, "{}")), &defaults)); err != nil {
		return nil, err
	}
	for _, k := range a.ggufKeys() {
		value := config[k.config]
		if n, ok := value.(float64); ok && k.kind == "i" {
			value = uint32(n)
		} else if ok {
			value = float32(n)
		}
		otherNorm := strings.HasSuffix(k.gguf, map[bool]string{true: "rms_epsilon", false: "layer_norm_epsilon"}[spec.Norm == models.NormLayer])
		usual := k.kind == "-" || k.kind == "s" && (defaults[k.config] == nil || defaults[k.config] == value)
		if value != nil && !usual && !otherNorm {
			all = append(all, checkpoint.GGUFEntry{Key: a.GGUF.name(a) + "." + k.gguf, Value: value})
		}
	}
	return all, nil
}

// ggufTokenizer appends the tokenizer. Ids of the model that the tokenizer lacks become unused
// tokens, [unusedN].
func (m *Model) ggufTokenizer(all []checkpoint.GGUFEntry) ([]checkpoint.GGUFEntry, error) {
	t, err := m.Tokenizer()
	if err != nil {
		return nil, err
	}
	v, err := data.Vocabulary(m.Data.Tokenizer)
	if err != nil {
		return nil, err
	}
	if v.Pieces == "" {
		return nil, errors.Errorf("gguf: %s: want a BPE of bytes whose text is cut by a rule of llama.cpp, got digits in groups, or a BPE of characters",
			m.Data.Tokenizer)
	}
	kinds := make([]int32, m.Spec.Vocab)
	tokens := make([]string, m.Spec.Vocab)
	for id := range tokens {
		tokens[id], kinds[id] = fmt.Sprintf("[unused%d]", id), data.GGUFUnused
		if id < len(v.Tokens) && v.Tokens[id] != "" {
			tokens[id], kinds[id] = v.Tokens[id], data.GGUFNormal
			switch {
			case v.Special[id]:
				kinds[id] = data.GGUFControl
			case v.Added[id]:
				kinds[id] = data.GGUFUserDefined
			}
		}
	}
	for _, e := range []checkpoint.GGUFEntry{{Key: "model", Value: "gpt2"}, {Key: "pre", Value: v.Pieces}, {Key: "tokens", Value: tokens},
		{Key: "token_type", Value: kinds}, {Key: "merges", Value: v.Merges}} {
		all = append(all, checkpoint.GGUFEntry{Key: "tokenizer.ggml." + e.Key, Value: e.Value})
	}
	if m.Special.Pad != nil {
		all = append(all, checkpoint.GGUFEntry{Key: "tokenizer.ggml.padding_token_id", Value: uint32(*m.Special.Pad)})
	}
	template, err := m.ChatTemplate()
	if template != nil {
		all = append(all, checkpoint.GGUFEntry{Key: "tokenizer.chat_template", Value: template.Text})
	}
	return append(all, ggufSpecial(t)...), err
}

// ggufSpecial returns the tokens that begin and end texts. llama.cpp has three keys for tokens at
// which a text ends.
func ggufSpecial(t data.Tokenizer) []checkpoint.GGUFEntry {
	all := []checkpoint.GGUFEntry{{Key: "tokenizer.ggml.bos_token_id", Value: uint32(t.BOS())}, {Key: "tokenizer.ggml.add_bos_token", Value: data.AddsBOS(t)}}
	eos := data.EOS(t)
	for i, key := range []string{"eos", "eot", "eom"} {
		if i < len(eos) {
			all = append(all, checkpoint.GGUFEntry{Key: "tokenizer.ggml." + key + "_token_id", Value: uint32(eos[i])})
		}
	}
	return all
}
