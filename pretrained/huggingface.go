package pretrained

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/internal/regular"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

// architecture is a kind of model of Hugging Face's transformers that can be read and written: what its config.json
// says, and which of its tensors our parameters are made of. One more is a file with a function that returns it, and a
// line in architectures.
type architecture struct {
	name     string                                  // model_type
	class    string                                  // of transformers, with a language model's head
	stream   string                                  // kind of the residual stream; "": check says which
	keys     string                                  // the table of config.json
	defaults string                                  // transformers' own of what a config.json leaves out
	read     func(m *described, config []byte) error // what a config.json says beyond the table
	add      func(models.Spec) map[string]any        // the inverse
	check    func(models.Spec) error                 // whether the class computes a model, beyond what config.json can say; nil: it does
	gguf     *ggufForm                               // nil: llama.cpp has it not
	// zeroBiases: biases belong to it, and are written as zeros for a model that has none.
	zeroBiases     bool
	codeFile, code string // the class itself, where transformers has it not

	prefix  string       // of all tensors but the head, in files of the model with a head; those of the model without have none
	head    string       // the unembedding [V, D]; where it is tied, files may leave it out
	unused  []string     // ends of the names of tensors that some files hold and that are no parameters
	tensors string       // the table of a layout; "": files have our parameters as they are
	sizes   map[byte]int // of the table's axes that not every model has
}

// architectures lists what can be read and written.
func architectures() []architecture { return []architecture{gpt2(), llama(), qwen3(), residua()} }

// maxHuggingFaceConfig bounds a config.json, which has a thousand bytes or two.
const maxHuggingFaceConfig = 1 << 20

// openHuggingFace reads a folder as Hugging Face's transformers saves a model: config.json, and the weights in
// safetensors files of F32, F16 or BF16, which become float32. The tokenizer is that of the folder's tokenizer.json, as
// data.NewTokenizer reads it, or without that file gpt2 for a GPT-2 with its vocabulary, or none, with a warning.
func openHuggingFace(zoo models.Zoo, source checkpoint.Source) (*Model, error) {
	configPath := filepath.Join(filepath.Dir(source.ModelPath), checkpoint.HuggingFaceConfig)
	text, err := regular.Read(configPath, maxHuggingFaceConfig)
	if err != nil {
		return nil, err
	}
	a, c, err := parseHuggingFace(text)
	if err != nil {
		return nil, errors.Wrap(err, configPath)
	}
	m := &Model{Source: source, Zoo: zoo}
	m.Spec, m.Data = c, config.Data{TextField: config.Defaults().Data.TextField}
	read := checkpoint.ReadTensors
	if filepath.Base(source.ModelPath) == checkpoint.ModelIndex {
		read = checkpoint.ReadSharded
	}
	file, err := read(source.ModelPath)
	if err != nil {
		return nil, err
	}
	if m.Store, err = a.store(c, file.Tensors); err != nil {
		return nil, errors.Wrap(err, source.ModelPath)
	}
	if m.Data.Tokenizer, err = tokenizerOf(a, c, configPath); err != nil {
		m.Source.Warnings = append(m.Source.Warnings, err.Error()+": text cannot be encoded, want token ids as prompt")
	}
	return m, nil
}

// tokenizerOf is the name of the tokenizer of a folder with that config.json.
func tokenizerOf(a architecture, c models.Spec, configPath string) (string, error) {
	file := filepath.Join(filepath.Dir(configPath), tokenizerFile)
	if _, err := os.Stat(file); err == nil {
		t, err := data.NewTokenizer(file)
		if err == nil {
			err = data.CheckVocabulary(t, c.Vocab)
		}
		if err != nil {
			return "", err
		}
		return builtIn(file, t)
	}
	if a.name == "gpt2" && c.Vocab == gpt2Vocab {
		return "gpt2", nil
	}
	return "", errors.Errorf("%s: no tokenizer.json next to it, and no tokenizer here has its vocabulary of %d ids", configPath, c.Vocab)
}

// parseHuggingFace returns the architecture and the model that a config.json describes. An error of ours about a size
// names config.json's key.
func parseHuggingFace(text []byte) (architecture, models.Spec, error) {
	var c struct {
		Type         string `json:"model_type"`
		Quantization any    `json:"quantization_config"`
	}
	if err := unmarshal(text, &c); err != nil {
		return architecture{}, models.Spec{}, err
	}
	if c.Quantization != nil {
		return architecture{}, models.Spec{}, layers.Setting("quantization_config", "want none, got one: quantized weights are not read")
	}
	var names []string
	for _, a := range architectures() {
		if a.name == c.Type {
			spec, err := a.spec(text)
			return a, spec, err
		}
		names = append(names, a.name)
	}
	return architecture{}, models.Spec{}, layers.Setting("model_type", "want one of %v, got %q: other models are not read", names, c.Type)
}

// spec is the model of a config.json.
func (a architecture) spec(text []byte) (models.Spec, error) {
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

// unmarshal reads a JSON object over the defaults that c has.
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
