package pretrained

import (
	"cmp"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/generate/chat"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/zoo"
)

// Model is a trained model, read from a file.
type Model struct {
	Description
	Zoo    models.Zoo   // the zoo with which it was opened
	Store  *graph.Store // its parameters; graphs cannot add to them
	Source checkpoint.Source
	State  *checkpoint.State // state in the step folder around the file; nil for a file outside one
	Lora   *Lora             // the adapters that Store's weights are changed by; nil: none

	folder       string // of the chat template, "": that of ModelPath
	architecture string // of Hugging Face's folder that it was opened from; "": another format
	texts        texts  // the generator of Generate
}

// Open reads a model from a run folder (its newest checkpoint), a step folder, one model file,
// "zoo:NAME" (a model of package zoo, which may be downloaded), or anything that one of Importers
// recognises, such as a Hugging Face folder (config.json, safetensors) of a known architecture. A
// run or step folder is always read as ours, whatever other files it has. The designs and formats
// are those in the zoo, by default models.Standard(). Files that it skipped are in Source.Warnings.
//
// If path holds adapters (LoRA), of a run with train.lora or a folder of peft's, Open also opens
// the model that they change, and returns it with changed weights.
func Open(path string, of ...models.Zoo) (*Model, error) { return OpenOn(path, "", of...) }

// OpenOn does what Open does for adapters whose base has moved to the path base.
func OpenOn(path, base string, of ...models.Zoo) (*Model, error) {
	m, err := openOn(path, base, zooOf(of))
	if err == nil && base != "" && m.Lora == nil {
		err = errors.Errorf("%s: want adapters, which change the model %s, got a whole model", path, base)
	}
	return m, err
}

func openOn(path, base string, zoo models.Zoo) (*Model, error) {
	path, err := named(path)
	if err != nil {
		return nil, err
	}
	i, unknown := ImporterOf(zoo, path)
	if unknown == nil && !checkpoint.IsRun(path) {
		if i.Name() == (peft{}).Name() {
			i = peft{base}
		}
		m, err := i.Import(zoo, path)
		if err == nil {
			m.Zoo, m.Source.Kind = zoo, checkpoint.Kind(i.Name())
		}
		return m, err
	}
	source, err := checkpoint.Resolve(path)
	if errors.Is(err, checkpoint.ErrUnknown) {
		err = errors.WithMessagef(err, "%v, or a model of ours", unknown)
	}
	if err != nil {
		return nil, err
	}
	file, err := checkpoint.ReadModel(source.ModelPath)
	if err != nil {
		return nil, err
	}
	m, err := open(zoo, source, file, base)
	if err == nil {
		m.readState()
	}
	return m, err
}

// named returns the file of a model of package zoo, and any other path unchanged.
func named(path string) (string, error) {
	if name, ok := strings.CutPrefix(path, zoo.Prefix); ok {
		return zoo.Standard().File(name)
	}
	return path, nil
}

// OpenFS reads a model from one model file of a file system, such as an embed.FS: a program can
// contain its model. The designs are those in the zoo, by default models.Standard().
func OpenFS(fsys fs.FS, name string, of ...models.Zoo) (*Model, error) {
	file, err := checkpoint.ReadModelFS(fsys, name)
	if err != nil {
		return nil, err
	}
	return open(zooOf(of), checkpoint.Source{Kind: checkpoint.KindFile, ModelPath: name}, file, "")
}

// zooOf returns the first zoo, the standard one if there is none.
func zooOf(zoos []models.Zoo) models.Zoo { return append(zoos, models.Standard())[0] }

// open makes the model of a file. If the file holds adapters, it opens their base, too.
func open(zoo models.Zoo, source checkpoint.Source, file *checkpoint.File, base string) (*Model, error) {
	m := &Model{Source: source, Zoo: zoo}
	var err error
	if m.Description, err = Describe(zoo, source.ModelPath, file.Metadata); err != nil {
		return nil, err
	}
	if source.RunDir != "" {
		m.Data.UseCopy(source.RunDir)
	}
	if m.Adapted != nil {
		return m, errors.Wrap(m.adapt(base, file.Tensors), source.ModelPath)
	}
	if m.Store, err = Serve(m.Spec, file.Tensors); err != nil {
		return nil, errors.Wrap(err, source.ModelPath)
	}
	return m, nil
}

// readState reads the state that was saved with the model. If it is damaged, that is only a
// warning, since the model itself is complete.
func (m *Model) readState() {
	if m.Source.StepDir == "" {
		return
	}
	state, err := checkpoint.ReadState(m.Source.StepDir)
	if err != nil {
		m.Source.Warnings = append(m.Source.Warnings, err.Error())
		return
	}
	m.State = &state
}

// Generator returns a generator of text by the model. If the model has no tokenizer, the generator
// only handles token ids.
func (m *Model) Generator(o generate.Options) (*generate.Generator, error) {
	var tokenizer data.Tokenizer
	if m.Data.Tokenizer != "" {
		var err error
		if tokenizer, err = m.Tokenizer(); err != nil {
			return nil, errors.Wrap(err, m.Source.ModelPath)
		}
	}
	o.EOS = append(o.EOS, m.Special.EOS...)
	return generate.New(m.Store, m.Spec, tokenizer, o)
}

// ChatTemplate returns the chat template of the folder that the model was opened from or, for
// adapters, of their base's folder; nil if there is none.
func (m *Model) ChatTemplate() (*chat.Template, error) {
	return chat.ReadTemplate(cmp.Or(m.folder, filepath.Dir(m.Source.ModelPath)))
}
