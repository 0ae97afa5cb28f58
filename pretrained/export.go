package pretrained

import (
	"encoding/json"
	"io"
	"maps"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

// ExportHuggingFace writes the model as a folder that Hugging Face's transformers loads by
// AutoModelForCausalLM.from_pretrained, and Open: config.json, model.safetensors (F32), generation_config.json, and the
// tokenizer's files if the model has a tokenizer. The model must be one of a class of theirs, GPT-2, Llama or Qwen3, or
// on a matrix stream: such a folder has the class with it, in modeling_residua.py, and is loaded with
// trust_remote_code=True. An error of one that is neither names, for each class, the first option that does not fit.
//
// A folder that is there already is refused, with [os.ErrExist], unless o.Replace is set.
func (m *Model) ExportHuggingFace(folder string, o ExportOptions) (Class, error) {
	a, err := architectureOf(m.Spec, o.Architecture)
	if err != nil {
		return Class{}, err
	}
	files, err := m.huggingFaceFiles(a)
	if err != nil {
		return Class{}, err
	}
	return Class{a.class, a.code != ""}, checkpoint.WriteFolder(folder, o.Replace, files...)
}

// Class is the class of transformers that loads an exported model.
type Class struct {
	Name   string
	Remote bool // it comes with the folder: from_pretrained wants trust_remote_code=True
}

// ExportOptions say how a model is exported.
type ExportOptions struct {
	Replace      bool   `yaml:"replace" help:"replace the file or the folder that is at -out already"`
	Architecture string `yaml:"architecture" help:"with -format huggingface: write a <NAME>: gpt2, llama, qwen3 or residua, or say what keeps the model from being one; without, the first that it is"`
}

func (m *Model) huggingFaceFiles(a architecture) ([]checkpoint.FolderFile, error) {
	tokenizer, err := m.tokenizerFiles()
	if err != nil {
		return nil, err
	}
	c := a.config(m.Spec)
	maps.Copy(c, map[string]any{"model_type": a.name, "architectures": []string{a.class}, "tie_word_embeddings": m.Spec.TieEmbeddings,
		"dtype": "float32", "bos_token_id": tokenizer.bos, "eos_token_id": tokenizer.eos})
	tensors, err := a.write(m)
	if err != nil {
		return nil, err
	}
	files := []checkpoint.FolderFile{
		jsonFile(checkpoint.HuggingFaceConfig, c),
		jsonFile("generation_config.json", map[string]any{"bos_token_id": tokenizer.bos, "eos_token_id": tokenizer.eos}),
		{Name: checkpoint.ModelFile, Write: func(w io.Writer) error {
			return checkpoint.EncodeTensors(w, tensors, map[string]string{"format": "pt"})
		}},
	}
	if a.code != "" {
		files = append(files, textFile(a.codeFile, []byte(a.code)))
	}
	return append(files, tokenizer.files...), nil
}

// architectureOf is that of a name or, without, the first that a model is one of. The test is that its config.json is
// read back as the same model.
func architectureOf(c models.Spec, name string) (architecture, error) {
	var names, problems []string
	for _, a := range architectures() {
		names = append(names, a.name)
		if name != "" && name != a.name {
			continue
		}
		err := a.fits(c)
		if err == nil || name != "" {
			return a, err
		}
		problems = append(problems, err.Error())
	}
	if name != "" {
		return architecture{}, layers.Setting("architecture", "want one of %v, got %q", names, name)
	}
	return architecture{}, errors.Errorf("no class of transformers computes this model: %s", strings.Join(problems, "; "))
}

// fits tells what keeps a model from being one of the architecture.
func (a architecture) fits(c models.Spec) error {
	if want, got := a.stream, c.Stream.Name(); want != "" && want != got {
		return errors.Errorf("%s: model.stream.kind: want %s, got %s", a.name, want, got)
	}
	if a.check != nil {
		if err := a.check(c); err != nil {
			return errors.Wrap(err, a.name)
		}
	}
	text, err := json.Marshal(a.config(c))
	if err != nil {
		return errors.WithStack(err)
	}
	own, err := a.model(text)
	if err != nil {
		return errors.Wrap(err, a.name)
	}
	if a.zeroBiases && c.Norm == models.NormLayer {
		own.Bias = c.Bias
	}
	own.TieEmbeddings = c.TieEmbeddings
	spec, err := own.Resolve()
	if err == nil {
		err = spec.SameModel(c)
	}
	return errors.Wrap(err, a.name)
}

// jsonFile is a file of indented JSON.
func jsonFile(name string, value any) checkpoint.FolderFile {
	return checkpoint.FolderFile{Name: name, Write: func(w io.Writer) error {
		text, err := json.MarshalIndent(value, "", "  ")
		if err != nil {
			return errors.WithStack(err)
		}
		_, err = w.Write(append(text, '\n'))
		return err
	}}
}

// textFile is a file of given content.
func textFile(name string, content []byte) checkpoint.FolderFile {
	return checkpoint.FolderFile{Name: name, Write: func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	}}
}
