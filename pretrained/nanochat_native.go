package pretrained

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/internal/regular"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
)

// nanoChatNative is the format of nanochat itself (Karpathy 2025): a folder with meta.json, or
// meta_STEP.json, and the weights in model.safetensors or model_STEP.pt.
type nanoChatNative struct{}

// Name returns "nanochat".
func (nanoChatNative) Name() string { return "nanochat" }

// Wants describes the folder.
func (nanoChatNative) Wants() string {
	return "a folder of nanochat's (with meta.json or meta_STEP.json, and model.safetensors or model_STEP.pt)"
}

// Recognises tells whether there is nanochat's meta file, and no config.json.
func (nanoChatNative) Recognises(path string) bool {
	return nanoChatMeta(path) != "" && !holds(path, checkpoint.HuggingFaceConfig)
}

// nanoChatMeta returns the last of a folder's meta files, or "".
func nanoChatMeta(folder string) string {
	entries, _ := os.ReadDir(folder) // ordered by name
	for _, e := range slices.Backward(entries) {
		if name := e.Name(); strings.HasPrefix(name, "meta") && strings.HasSuffix(name, ".json") {
			return filepath.Join(folder, name)
		}
	}
	return ""
}

// nanoChatConfig is what meta.json says of the model. The file has the sizes; the base of rotary
// positions and a factor of queries and keys depend on the commit that trained it, which the
// tensors show. Commit may say "old" or "new", which is checked; anything else is not read.
type nanoChatConfig struct {
	Model struct {
		Seq     int    `json:"sequence_len"`
		Vocab   int    `json:"vocab_size"`
		Layers  int    `json:"n_layer"`
		Heads   int    `json:"n_head"`
		KVHeads int    `json:"n_kv_head"`
		Width   int    `json:"n_embd"`
		Windows string `json:"window_pattern"`
	} `json:"model_config"`
	Commit string `json:"nanochat_commit"`
}

// Import reads a model. Text needs a tokenizer.json in the folder, as nanochat's own is a pickle.
func (nanoChatNative) Import(_ models.Zoo, path string) (*Model, error) {
	meta := nanoChatMeta(path)
	text, err := regular.Read(meta, maxHuggingFaceConfig)
	if err != nil {
		return nil, err
	}
	var c nanoChatConfig
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, errors.Wrapf(err, "%s: want nanochat's model_config", meta)
	}
	m := &Model{}
	m.Data = runconfig.Data{TextField: runconfig.Defaults().Data.TextField}
	tensors, err := m.nanoChatTensors(path, meta)
	if err != nil {
		return nil, err
	}
	newer, err := c.newer(tensors)
	if err != nil {
		return nil, errors.Wrap(err, meta)
	}
	config := c.config(newer)
	if m.Spec, err = config.Resolve(); err != nil {
		return nil, errors.Wrapf(err, "%s: model_config", meta)
	}
	if tensors, err = c.arranged(tensors); err != nil {
		return nil, errors.Wrap(err, m.Source.ModelPath)
	}
	a := c.architecture(newer)
	if m.Store, err = a.store(m.Spec, tensors); err != nil {
		return nil, errors.Wrap(err, m.Source.ModelPath)
	}
	return m, m.readTokenizer(a, path)
}

// nanoChatTensors reads the weights next to a meta file.
func (m *Model) nanoChatTensors(folder, meta string) ([]checkpoint.Tensor, error) {
	if m.Source.ModelPath = filepath.Join(folder, checkpoint.ModelFile); holds(folder, checkpoint.ModelFile) {
		file, err := checkpoint.ReadTensors(m.Source.ModelPath)
		if err != nil {
			return nil, err
		}
		return file.Tensors, nil
	}
	name := strings.Replace(strings.TrimSuffix(filepath.Base(meta), ".json"), "meta", "model", 1) + ".pt"
	m.Source.ModelPath = filepath.Join(folder, name)
	file, err := checkpoint.OpenTorch(m.Source.ModelPath)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	tensors, err := file.Tensors()
	for i := range tensors {
		tensors[i].Name = strings.TrimPrefix(tensors[i].Name, "_orig_mod.")
	}
	return tensors, err
}

// newer tells whether a model was trained by a commit with base 100000 and the factor 1.2: these
// have value embeddings and smear. The first commits, with base 10000, had none of these, nor
// factors of the residual.
func (c nanoChatConfig) newer(tensors []checkpoint.Tensor) (bool, error) {
	has := func(name string) bool {
		return slices.ContainsFunc(tensors, func(t checkpoint.Tensor) bool { return t.Name == name })
	}
	switch now, factors := has("smear_lambda"), has("resid_lambdas"); {
	case now != factors || c.Commit == "old" && now || c.Commit == "new" && !now:
		return false, errors.New(`want the tensors of nanochat's first commits, or resid_lambdas, smear_lambda and backout_lambda as since 2026-07, got others: ` +
			`models between them are not read, since their rotary positions cannot be told`)
	default:
		return now, nil
	}
}

// config returns the model. The windows are those that nanochat's code computes: a letter S of the
// pattern, which repeats, stands for a quarter of the row before a token, rounded up to a multiple
// of 128 tokens; the last block sees everything.
func (c nanoChatConfig) config(newer bool) models.Config {
	s, sized := c.Model, models.FirstNanoChat
	if newer {
		sized = models.NanoChat
	}
	config := sized(s.Layers, s.Width, 4*s.Width, s.Heads)
	config.Vocab, config.Seq, config.Attention.KVHeads = s.Vocab, s.Seq, s.KVHeads
	var sliding []int
	for l := range max(0, s.Layers-1) {
		if s.Windows != "" && s.Windows[l%len(s.Windows)] == 'S' {
			sliding = append(sliding, l)
		}
	}
	if window := (s.Seq/4+127)/128*128 + 1; sliding != nil && window < s.Seq {
		config.Attention.Kind = layers.SlidingAttention{Window: window, Layers: sliding}
	}
	return config
}

// architecture returns the tables by which tensors are read. Normalised queries and keys times 1.2
// are gains of 1.2.
func (c nanoChatConfig) architecture(newer bool) Architecture {
	a := Architecture{Type: "nanochat", Tensors: nanoChatNativeTensors, Head: "lm_head.weight", SwapHalves: true,
		Gains: map[string]float32{"norm": 1, "q_norm": 1, "k_norm": 1},
		sizes: map[byte]int{'1': 1, 'c': models.NanoChatValueChannels, 's': models.NanoChatSmearChannels}}
	if !newer {
		return a
	}
	a.Gains["q_norm"], a.Gains["k_norm"] = 1.2, 1.2
	a.Tensors += "blocks.%d.x0 2 x0.%d 2\nsmear.gate s1 smear_gate.weight 1s\nsmear.lambda 1 smear_lambda 1\nbackout 1 backout_lambda 1\n"
	for l := (c.Model.Layers - 1) % 2; l < c.Model.Layers; l += 2 {
		a.Tensors += fmt.Sprintf("blocks.%d.attention.value_embedding VK value_embeds.%[1]d.weight VK\n"+
			"blocks.%[1]d.attention.value_gate cG transformer.h.%[1]d.attn.ve_gate.weight Gc\n", l)
	}
	return a
}

// arranged cuts the rows beyond the vocabulary, which nanochat pads to a multiple of 64, and joins
// each block's two factors of x0.
func (c nanoChatConfig) arranged(tensors []checkpoint.Tensor) ([]checkpoint.Tensor, error) {
	var all []checkpoint.Tensor
	factors := map[string][]float32{}
	for _, t := range tensors {
		values, err := t.Float32s()
		if err != nil {
			return nil, err
		}
		switch padded := t.Name == "transformer.wte.weight" || t.Name == "lm_head.weight" || strings.HasPrefix(t.Name, "value_embeds."); {
		case strings.HasSuffix(t.Name, "_lambdas") && len(values) == c.Model.Layers:
			factors[t.Name] = values
			continue
		case padded && len(t.Shape) == 2 && t.Shape[0] > c.Model.Vocab:
			t = checkpoint.Tensor{Name: t.Name, Shape: []int{c.Model.Vocab, t.Shape[1]}, Data: values[:c.Model.Vocab*t.Shape[1]]}
		}
		all = append(all, t)
	}
	stays, first := factors["resid_lambdas"], factors["x0_lambdas"]
	if len(stays) != len(first) {
		return nil, errors.Errorf("want resid_lambdas and x0_lambdas with a number for each of %d blocks, got %d and %d", c.Model.Layers, len(stays), len(first))
	}
	for l := range stays {
		all = append(all, checkpoint.Tensor{Name: fmt.Sprintf("x0.%d", l), Shape: []int{2}, Data: []float32{stays[l], first[l]}})
	}
	return all, nil
}

// nanoChatNativeTensors is the table of nanochat's own names.
const nanoChatNativeTensors = `embedding               VD  transformer.wte.weight              VD
unembedding             DV  lm_head.weight                      VD
blocks.%d.attention.qkv DQ  transformer.h.%d.attn.c_q.weight    QD
blocks.%d.attention.qkv DK  transformer.h.%d.attn.c_k.weight    KD
blocks.%d.attention.qkv DW  transformer.h.%d.attn.c_v.weight    WD
blocks.%d.attention.o   QD  transformer.h.%d.attn.c_proj.weight DQ
blocks.%d.feedforward.w1 DF transformer.h.%d.mlp.c_fc.weight    FD
blocks.%d.feedforward.w2 FD transformer.h.%d.mlp.c_proj.weight  DF
`
