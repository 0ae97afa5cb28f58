package pretrained

import (
	"cmp"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/regular"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

// peft is the format of LoRA adapters of Hugging Face's peft: for each module W [out, in] the
// tensors lora_A [r, in] and lora_B [out, r], with W' = W + s lora_B lora_A.
type peft struct{ base string } // "": the one that the folder names

// The files of a folder of peft's, and how its tensors' names begin and end.
const (
	peftConfig  = "adapter_config.json"
	peftWeights = "adapter_model.safetensors"
	peftPrefix  = "base_model.model."
	peftA       = ".lora_A.weight"
	peftB       = ".lora_B.weight"
)

// Name returns "peft".
func (peft) Name() string { return "peft" }

// Wants says that adapter_config.json is looked for.
func (peft) Wants() string {
	return "a folder of LoRA adapters of peft's (with " + peftConfig + "), on a model that is on this machine"
}

// Recognises tells whether there is an adapter_config.json.
func (peft) Recognises(path string) bool { return holds(path, peftConfig) }

// peftSettings are the keys of adapter_config.json that are read.
type peftSettings struct {
	Type     string         `json:"peft_type"`
	Base     string         `json:"base_model_name_or_path"`
	Rank     int            `json:"r"`
	Alpha    float64        `json:"lora_alpha"`
	Root     bool           `json:"use_rslora"`
	DoRA     bool           `json:"use_dora"`
	Bias     string         `json:"bias"`
	Whole    []string       `json:"modules_to_save"`
	Ranks    map[string]any `json:"rank_pattern"`
	Alphas   map[string]any `json:"alpha_pattern"`
	LoraBias bool           `json:"lora_bias"`
	Init     any            `json:"init_lora_weights"`
	Invoked  []int          `json:"alora_invocation_tokens"`
}

// keepsBase tells whether the adapters began without changing the base's own weights, as those of
// PiSSA, CorDA, OLoRA and LoftQ do when peft loads them, too.
func (c peftSettings) keepsBase() bool {
	name, isText := c.Init.(string)
	return !isText || slices.Contains([]string{"gaussian", "eva", "orthogonal"}, strings.ToLower(name))
}

// check refuses what is not a sum of the weight and one product of low rank.
func (c peftSettings) check() error {
	switch {
	case c.Type != "LORA":
		return layers.Setting("peft_type", "want LORA, got %q", c.Type)
	case c.Rank < 1:
		return layers.Setting("r", "want >= 1, got %d", c.Rank)
	case c.DoRA:
		return layers.Setting("use_dora", "want false, got true: magnitudes of weights are not read")
	case c.Bias != "none" && c.Bias != "" || c.LoraBias:
		return layers.Setting("bias", "want none, got trained biases")
	case len(c.Whole) > 0:
		return layers.Setting("modules_to_save", "want none, got %q", c.Whole)
	case len(c.Ranks)+len(c.Alphas) > 0:
		return layers.Setting("rank_pattern", "want one rank and one alpha for all modules, got several")
	case !c.keepsBase():
		return layers.Setting("init_lora_weights", "want true, gaussian, eva or orthogonal, got %q, which changes the base's weights, too: "+
			"save the adapters converted, by save_pretrained's path_initial_model_for_weight_conversion", c.Init)
	case len(c.Invoked) > 0:
		return layers.Setting("alora_invocation_tokens", "want none, got %v: adapters of some tokens alone are not read", c.Invoked)
	}
	return nil
}

// Import reads the adapters and the model that they change.
func (f peft) Import(zoo models.Zoo, path string) (*Model, error) {
	var c peftSettings
	configPath, weights := filepath.Join(path, peftConfig), filepath.Join(path, peftWeights)
	text, err := regular.Read(configPath, maxHuggingFaceConfig)
	if err == nil {
		err = unmarshal(text, &c)
	}
	if err == nil {
		err = errors.Wrap(c.check(), configPath)
	}
	if err != nil {
		return nil, err
	}
	on, err := OpenOn(cmp.Or(f.base, c.Base), "", zoo)
	if err != nil {
		return nil, errors.Wrapf(err, "%s: the model that the adapters change: name it by -base", configPath)
	}
	file, err := checkpoint.ReadTensors(weights)
	if err != nil {
		return nil, err
	}
	m := &Model{Description: on.Description, architecture: on.architecture}
	m.Source.ModelPath = weights
	l := &Lora{Base: cmp.Or(f.base, c.Base), Values: map[string][]float32{}}
	scale := c.Alpha / float64(c.Rank)
	if c.Root {
		scale = c.Alpha / math.Sqrt(float64(c.Rank))
	}
	if err := l.read(on, file.Tensors, c.Rank, scale); err != nil {
		return nil, errors.Wrap(err, weights)
	}
	plan, err := planOf(m.Spec, l.Adapters...)
	if err != nil {
		return nil, err
	}
	return m, m.changeBy(on, plan, l)
}

// read takes the adapters from a file's tensors, all of which have to be adapters'.
func (l *Lora) read(on *Model, tensors []checkpoint.Tensor, rank int, scale float64) error {
	_, modules, err := loraModules(on.Zoo, on.Spec, on.architecture)
	if err != nil {
		return err
	}
	for _, t := range tensors {
		name, ours := strings.CutPrefix(t.Name, peftPrefix)
		module, second := strings.CutSuffix(name, peftB)
		if !second {
			module, ours = strings.CutSuffix(name, peftA)
		}
		at := slices.IndexFunc(modules, func(m loraModule) bool { return m.name == module })
		switch {
		case !ours || at < 0:
			return tensorErrorf(t.Name, "want adapters of the model's weights %v alone, such as %s%s", lastNames(modules), peftPrefix+modules[0].name, peftA)
		case modules[at].refused != "":
			return tensorErrorf(t.Name, "%s: %s, and cannot have an adapter", module, modules[at].refused)
		case len(t.Shape) != 2 || second && !slices.Equal(t.Shape, []int{modules[at].adapter.Width, rank}) || !second && t.Shape[0] != rank:
			return tensorErrorf(t.Name, "want shape [%d, in] for %s and [%d, %d] for %s, got %v", rank, peftA, modules[at].adapter.Width, rank, peftB, t.Shape)
		}
		values, err := t.Float32s()
		if err != nil {
			return err
		}
		a := modules[at].with(rank, scale)
		if !second {
			l.Adapters = append(l.Adapters, a)
			l.Values[a.Name+graph.AdapterA] = transposed(values, t.Shape[0], t.Shape[1])
			continue
		}
		l.Values[a.Name+graph.AdapterB] = transposed(modules[at].ordered(values, rank, false), a.Width, rank)
	}
	if first := len(l.Adapters); len(l.Values) != 2*first {
		return errors.Errorf("want %s and %s of each weight, got %d and %d: a part of the file is missing", peftA, peftB, first, len(l.Values)-first)
	}
	return nil
}

// ordered returns rows of rank entries, one for each output of the module, in our order or, back,
// in the file's.
func (m loraModule) ordered(x []float32, rank int, back bool) []float32 {
	if m.rows == nil {
		return x
	}
	y := make([]float32, len(x))
	for ours, theirs := range m.rows {
		if back {
			copy(y[theirs*rank:][:rank], x[ours*rank:])
		} else {
			copy(y[ours*rank:][:rank], x[theirs*rank:])
		}
	}
	return y
}

// transposed returns the transpose of a matrix [rows, columns].
func transposed(x []float32, rows, columns int) []float32 {
	y := make([]float32, len(x))
	for i := range rows {
		for j := range columns {
			y[j*rows+i] = x[i*columns+j]
		}
	}
	return y
}

// Format says that the format is a folder of two files.
func (peft) Format() Format {
	return Format{Help: "a folder of a model's adapters (LoRA) alone, for peft's PeftModel.from_pretrained on their base", Folder: true,
		Files: []string{peftConfig, peftWeights}}
}

// Export writes the adapters of a model that has some.
func (peft) Export(m *Model, folder string, o ExportOptions) ([]string, error) {
	if m.Lora == nil || len(m.Lora.Adapters) == 0 {
		return nil, errors.New("want a model with adapters, of a run with train.lora or from peft, got one without")
	}
	of, modules, err := loraModules(m.Zoo, m.Spec, m.architecture)
	if err != nil {
		return nil, err
	}
	if of.Tensors == "" {
		return nil, errors.New("want a model of a class of transformers, in which peft can find the weights, got another: " +
			"convert it with its adapters by another -format")
	}
	var tensors []checkpoint.Tensor
	var targets []string
	transposes := false
	for _, a := range m.Lora.Adapters {
		module, err := moduleOf(modules, a.Name)
		if err != nil {
			return nil, err
		}
		first, second := m.Lora.Values[a.Name+graph.AdapterA], m.Lora.Values[a.Name+graph.AdapterB]
		in := len(first) / a.Rank
		targets, transposes = append(targets, module.name), module.transposed
		tensors = append(tensors,
			checkpoint.Tensor{Name: peftPrefix + module.name + peftA, Shape: []int{a.Rank, in}, Data: transposed(first, in, a.Rank)},
			checkpoint.Tensor{Name: peftPrefix + module.name + peftB, Shape: []int{a.Width, a.Rank},
				Data: module.ordered(transposed(second, a.Rank, a.Width), a.Rank, true)})
	}
	one := m.Lora.Adapters[0]
	config := map[string]any{"peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": m.Lora.Base, "r": one.Rank,
		"lora_alpha": one.Scale * float64(one.Rank), "lora_dropout": 0.0, "bias": "none", "target_modules": targets, "fan_in_fan_out": transposes,
		"inference_mode": true}
	return nil, o.Disk.WriteFolder(folder, o.Replace, jsonFile(peftConfig, config), tensorsFile(peftWeights, tensors, map[string]string{"format": "pt"}))
}
