package pretrained

import (
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/generate/chat"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

// Format says that the format is a folder.
func (huggingFace) Format() Format {
	return Format{
		Help:   "a folder that transformers' AutoModelForCausalLM.from_pretrained loads, with trust_remote_code=True if it has its class in a modeling_*.py",
		Folder: true,
		Files: []string{checkpoint.HuggingFaceConfig, "generation_config.json", checkpoint.ModelFile, tokenizerFile, "tokenizer_config.json",
			"special_tokens_map.json", "added_tokens.json", "vocab.json", "merges.txt", chat.TemplateFile},
	}
}

// Export writes config.json, model.safetensors (F32), generation_config.json, the tokenizer's files
// if the model has a tokenizer, and the Python class if transformers does not have it. If the model
// fits no architecture, the error names, for each, the first option that does not fit.
func (huggingFace) Export(m *Model, folder string, o ExportOptions) (notes []string, err error) {
	a, err := architectureOf(m.Zoo, m.Spec, o.Architecture)
	if err != nil {
		return nil, err
	}
	files, err := m.huggingFaceFiles(a)
	if err != nil {
		return nil, err
	}
	if a.Code != "" {
		notes = append(notes, "no class of transformers computes this model: load it with trust_remote_code=True, by the folder's "+a.CodeFile)
	} else if m.Spec.MaskDocuments {
		notes = append(notes, "the model was trained with attention inside documents; transformers attends across the documents of one text")
	}
	return notes, o.Disk.WriteFolder(folder, o.Replace, files...)
}

func (m *Model) huggingFaceFiles(a Architecture) ([]checkpoint.FolderFile, error) {
	tokenizer, err := m.tokenizerFiles()
	if err != nil {
		return nil, err
	}
	c := a.config(m.Spec)
	special := map[string]any{"bos_token_id": tokenizer.bos, "eos_token_id": oneOrAll(tokenizer.eos), "pad_token_id": m.Special.Pad}
	maps.Copy(c, map[string]any{"model_type": a.Type, "architectures": []string{a.Class}, "tie_word_embeddings": m.Spec.TieEmbeddings, "dtype": "float32"})
	maps.Copy(c, special)
	tensors, err := a.write(m)
	if err != nil {
		return nil, err
	}
	files := []checkpoint.FolderFile{
		jsonFile(checkpoint.HuggingFaceConfig, c),
		jsonFile("generation_config.json", special),
		tensorsFile(checkpoint.ModelFile, tensors, map[string]string{"format": "pt"}),
	}
	if a.Code != "" {
		files = append(files, textFile(a.CodeFile, []byte(a.Code)))
	}
	template, err := m.ChatTemplate()
	if template != nil {
		files = append(files, textFile(chat.TemplateFile, []byte(template.Text)))
	}
	return append(files, tokenizer.files...), err
}

// architectureOf returns the architecture with the given name or, without a name, the first that
// fits the model. An architecture fits if its config.json is read back as the same model.
func architectureOf(zoo models.Zoo, spec models.Spec, name string) (Architecture, error) {
	all := architectures(zoo)
	if name != "" {
		i := slices.IndexFunc(all, func(a Architecture) bool { return a.Type == name })
		if i < 0 {
			return Architecture{}, layers.Setting("architecture", "want one of %v, got %q", models.NamesOf(all), name)
		}
		return all[i], all[i].fits(spec)
	}
	a, problems := firstFitting(all, spec)
	if problems != "" {
		return a, errors.Errorf("no class of transformers computes this model: %s; "+
			"to export stream %s, write a pretrained.Architecture with its modeling_*.py, and add it by models.Zoo.WithKinds",
			problems, spec.Stream.Name())
	}
	return a, nil
}

// firstFitting returns the first architecture that fits a model, or why none does.
func firstFitting(all []Architecture, spec models.Spec) (Architecture, string) {
	var problems []string
	for _, a := range all {
		err := a.fits(spec)
		if err == nil {
			return a, ""
		}
		problems = append(problems, err.Error())
	}
	return Architecture{}, strings.Join(problems, "; ")
}

// fits returns an error that says why a model does not fit the architecture.
func (a Architecture) fits(spec models.Spec) error {
	if want, got := a.Stream, spec.Stream.Name(); want != "" && want != got {
		return errors.Errorf("%s: model.stream.kind: want %s, got %s", a.Type, want, got)
	}
	if err := checkNoSeparator(spec); err != nil {
		return errors.Wrap(err, a.Type)
	}
	if a.Check != nil {
		if err := a.Check(spec); err != nil {
			return errors.Wrap(err, a.Type)
		}
	}
	text, err := json.Marshal(a.config(spec))
	if err != nil {
		return errors.WithStack(err)
	}
	own, err := a.model(text)
	if err != nil {
		return errors.Wrap(err, a.Type)
	}
	if a.ZeroBiases && spec.Norm == models.NormLayer {
		own.Bias = spec.Bias
	}
	own.TieEmbeddings = spec.TieEmbeddings
	read, err := own.Resolve()
	if err == nil {
		err = read.SameModel(spec)
	}
	return errors.Wrap(err, a.Type)
}

// checkNoSeparator returns an error for a model whose attention mask depends on a separator,
// which only Residua's own format can express.
func checkNoSeparator(spec models.Spec) error {
	if spec.MaskDocuments && spec.Separator > 0 {
		return errors.Errorf("data.source: want a source without a separator, after which attention sees nothing before it, got separator %d", spec.Separator)
	}
	return nil
}

// jsonFile returns a file of indented JSON.
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

// textFile returns a file with the given content.
func textFile(name string, content []byte) checkpoint.FolderFile {
	return checkpoint.FolderFile{Name: name, Write: func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	}}
}

// tensorsFile returns a safetensors file.
func tensorsFile(name string, tensors []checkpoint.Tensor, metadata map[string]string) checkpoint.FolderFile {
	return checkpoint.FolderFile{Name: name, Write: func(w io.Writer) error { return checkpoint.EncodeTensors(w, tensors, metadata) }}
}
