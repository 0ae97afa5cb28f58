package pretrained

import (
	"cmp"
	"encoding/json"
	"strconv"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
)

// Wants describes the file.
func (gguf) Wants() string { return "a GGUF file" }

// Recognises tells whether the file begins as a GGUF file does.
func (gguf) Recognises(path string) bool { return begins(path, "GGUF") }

// Import reads the file of an architecture that is written as GGUF, too, whose tensors are F32,
// F16, BF16 or Q8_0. If its tokenizer is not one that is read, prompts are token ids, with a
// warning.
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
	m.Special = data.GGUFSpecialIDs(file.Values)
	t, err := data.NewTokenizer(path)
	if err == nil {
		err = data.CheckVocabulary(t, m.Spec.Vocab)
	}
	if err != nil {
		m.Source.Warnings = append(m.Source.Warnings, err.Error()+": text cannot be encoded, want token ids as prompt")
		return m, nil
	}
	m.Special = data.SpecialIDs{Pad: m.Special.Pad}
	m.Data.Tokenizer, err = builtIn(path, t)
	return m, err
}

// ggufConfig returns the architecture of a file, and its config.json.
func ggufConfig(zoo models.Zoo, file *checkpoint.GGUF) (a Architecture, config []byte, err error) {
	arch, _ := file.Values["general.architecture"].(string)
	var names []string
	for _, known := range architectures(zoo) {
		if known.GGUF == nil {
			continue
		}
		if names = append(names, known.GGUF.name(known)); known.GGUF.name(known) == arch {
			a = known
		}
	}
	if a.GGUF == nil {
		return a, nil, errors.Errorf("general.architecture: want one of %v, got %q: others are not read from GGUF", names, arch)
	}
	c := map[string]any{"vocab_size": 0, "tie_word_embeddings": true, "attention_bias": false, "mlp_bias": false}
	for _, k := range a.ggufKeys() {
		if v, ok := file.Values[arch+"."+k.gguf]; ok && v != uint64(0) {
			c[k.config] = shortest(v)
		}
	}
	for _, t := range file.Tensors {
		switch t.Name {
		case "token_embd.weight":
			c["vocab_size"] = t.Shape[0]
		case "output.weight":
			c["tie_word_embeddings"] = false
		case "blk.0.attn_output.bias":
			c["attention_bias"] = true
		case "blk.0.ffn_up.bias":
			c["mlp_bias"] = true
		}
	}
	if err := ggufPositions(c, arch, file.Values, a.GGUF.Windows || arch == "phi3"); err != nil {
		return a, nil, err
	}
	config, err = json.Marshal(c)
	return a, config, errors.WithStack(err)
}

// ggufPositions sets what several keys say together: the sizes of heads, the part of one that
// turns, the scale of attention, and scaled positions.
func ggufPositions(c map[string]any, arch string, values map[string]any, windows bool) error {
	number := func(key string) float64 {
		n, _ := values[arch+"."+key].(uint64)
		return float64(n)
	}
	heads := max(1, number("attention.head_count"))
	dim := cmp.Or(number("attention.key_length"), number("embedding_length")/heads)
	c["head_dim"], c["num_key_value_heads"] = int(dim), int(cmp.Or(number("attention.head_count_kv"), heads))
	c["query_pre_attn_scalar"] = gemmaScalar(int(number("block_count")), int(number("embedding_length")), int(heads), int(dim))
	if turned := number("rope.dimension_count"); turned > 0 && turned != dim {
		c["partial_rotary_factor"], c["rotary_pct"] = turned/dim, turned/dim
	} else {
		c["rotary_pct"] = 1
	}
	key := arch + ".rope.scaling.type"
	if values[key] == layers.RopeLinear {
		c["rope_scaling"] = map[string]any{"rope_type": layers.RopeLinear, "factor": shortest(values[arch+".rope.scaling.factor"])}
	} else if v, ok := values[key]; ok && v != "none" {
		return errors.Errorf("%s: want none or linear, got %v: it is not read from GGUF", key, v)
	}
	for key, read := range map[string]bool{"attention.sliding_window": windows, "expert_count": false} {
		if n := number(key); n > 0 && !read {
			return errors.Errorf("%s.%s: want none, got %g: it is not read from GGUF", arch, key, n)
		}
	}
	return nil
}

// shortest returns a number as the shortest text that stands for it in float32, and other values
// unchanged.
func shortest(v any) any {
	if x, ok := v.(float64); ok {
		return json.Number(strconv.FormatFloat(x, 'g', -1, 32))
	}
	return v
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
