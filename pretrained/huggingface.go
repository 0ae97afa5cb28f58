package pretrained

import (
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/internal/regular"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
)

// huggingFace is the format of Hugging Face's transformers.
type huggingFace struct{}

// Name returns "huggingface".
func (huggingFace) Name() string { return "huggingface" }

// Wants says that config.json is looked for.
func (huggingFace) Wants() string { return "a Hugging Face folder (with config.json)" }

// Recognises tells whether there is a config.json.
func (huggingFace) Recognises(path string) bool { return holds(path, checkpoint.HuggingFaceConfig) }

// maxHuggingFaceConfig bounds the size of a config.json, which is usually one or two thousand
// bytes.
const maxHuggingFaceConfig = 1 << 20

// Import reads a folder in which transformers saved a model: config.json, and the weights in
// safetensors files or files of torch.save, of F32, F16 or BF16, which become float32. The
// tokenizer is read from the folder's tokenizer.json by data.NewTokenizer, or from vocab.json and
// merges.txt; without these files it is one of the architecture's Tokenizers, or none, with a
// warning.
func (huggingFace) Import(zoo models.Zoo, path string) (*Model, error) {
	configPath := filepath.Join(path, checkpoint.HuggingFaceConfig)
	text, err := regular.Read(configPath, maxHuggingFaceConfig)
	if err != nil {
		return nil, err
	}
	a, c, err := parseHuggingFace(zoo, text)
	if err != nil {
		return nil, errors.Wrap(err, configPath)
	}
	m := &Model{architecture: a.Type}
	m.Spec, m.Data = c, runconfig.Data{TextField: runconfig.Defaults().Data.TextField}
	file, err := m.readWeights(path)
	if err != nil {
		return nil, err
	}
	if m.Store, err = a.store(c, file.Tensors); err != nil {
		return nil, errors.Wrap(err, m.Source.ModelPath)
	}
	return m, m.readTokenizer(a, path)
}

// readWeights reads the first of the files of weights that a folder has.
func (m *Model) readWeights(folder string) (*checkpoint.File, error) {
	for _, f := range []struct {
		name string
		read func(path string) (*checkpoint.File, error)
	}{{checkpoint.ModelFile, checkpoint.ReadTensors}, {checkpoint.ModelIndex, checkpoint.ReadSharded}, {checkpoint.TorchModel, checkpoint.ReadTorch},
		{checkpoint.TorchIndex, checkpoint.ReadTorch}} {
		if holds(folder, f.name) {
			m.Source.ModelPath = filepath.Join(folder, f.name)
			return f.read(m.Source.ModelPath)
		}
	}
	return nil, errors.Errorf("%s: has a %s but no %s, %s or %s: other formats are not read: save the model anew as safetensors", folder,
		checkpoint.HuggingFaceConfig, checkpoint.ModelFile, checkpoint.ModelIndex, checkpoint.TorchModel)
}

// readTokenizer finds the tokenizer and the special tokens of a folder. Without a tokenizer, which
// is a warning, the model keeps the ids that begin and end texts; a tokenizer says these itself.
func (m *Model) readTokenizer(a Architecture, folder string) error {
	special, err := data.ReadSpecialIDs(folder)
	if err != nil {
		return err
	}
	if pad := special.Pad; pad != nil && (*pad < 0 || int(*pad) >= m.Spec.Vocab) {
		special.Pad = nil
	}
	if m.Data.Tokenizer, err = tokenizerOf(a, m.Spec, filepath.Join(folder, checkpoint.HuggingFaceConfig)); err != nil {
		m.Source.Warnings = append(m.Source.Warnings, err.Error()+": text cannot be encoded, want token ids as prompt")
		m.Special = special
		return nil
	}
	m.Special = data.SpecialIDs{Pad: special.Pad}
	return nil
}

// tokenizerOf returns the name of the tokenizer for a folder with that config.json.
func tokenizerOf(a Architecture, spec models.Spec, configPath string) (string, error) {
	folder := filepath.Dir(configPath)
	file := filepath.Join(folder, tokenizerFile)
	if !holds(folder, tokenizerFile) && a.VocabFiles {
		file = filepath.Join(folder, vocabFile)
	}
	if slices.ContainsFunc(data.VocabFiles(file), func(name string) bool { return holds(folder, name) }) {
		t, err := data.NewTokenizer(file)
		if err == nil {
			err = data.CheckVocabulary(t, spec.Vocab)
		}
		if err != nil {
			return "", err
		}
		return builtIn(file, t)
	}
	if name, known := a.Tokenizers[spec.Vocab]; known {
		return name, nil
	}
	return "", errors.Errorf("%s: no tokenizer.json next to it, and no tokenizer here has its vocabulary of %d ids", configPath, spec.Vocab)
}

// parseHuggingFace returns the architecture and the model that a config.json describes. If one of
// our checks refuses a size, the error names config.json's key.
func parseHuggingFace(zoo models.Zoo, text []byte) (Architecture, models.Spec, error) {
	var c struct {
		Type         string `json:"model_type"`
		Quantization any    `json:"quantization_config"`
	}
	if err := unmarshal(text, &c); err != nil {
		return Architecture{}, models.Spec{}, err
	}
	if c.Quantization != nil {
		return Architecture{}, models.Spec{}, layers.Setting("quantization_config", "want none, got one: quantized weights are not read")
	}
	for _, a := range architectures(zoo) {
		if a.Type == c.Type {
			spec, err := a.spec(text)
			return a, spec, err
		}
	}
	return Architecture{}, models.Spec{}, layers.Setting("model_type", "want one of %v, got %q: other models are not read", ArchitectureNames(zoo), c.Type)
}

// spec returns the model that a config.json describes.
func (a Architecture) spec(text []byte) (models.Spec, error) {
	c, err := a.model(text)
	if err != nil {
		return models.Spec{}, err
	}
	spec, err := c.Resolve()
	var bad *models.FieldError
	if errors.As(err, &bad) {
		for _, k := range a.configKeys() {
			if k.ours == bad.Field {
				return models.Spec{}, layers.Setting(k.name, "%s", bad.Problem)
			}
		}
	}
	return spec, err
}

// unmarshal reads a JSON object over the defaults in c.
func unmarshal(text []byte, c any) error {
	var wrong *json.UnmarshalTypeError
	err := json.Unmarshal(text, c)
	switch {
	case errors.As(err, &wrong) && wrong.Field != "":
		return layers.Setting(wrong.Field, "want %s, got %s", wrong.Type, wrong.Value)
	case wrong != nil:
		return errors.Errorf("want a JSON object, got %s", wrong.Value)
	}
	return errors.Wrap(err, "want a JSON object")
}
