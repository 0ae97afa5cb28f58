package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
)

// Folder is a file format for models on our stream: a folder with layerscale.json, which describes
// the model, and tensors.safetensors, in which the gains have the names of the CaiT authors' code,
// gamma_1 and gamma_2. It is a pretrained.Importer and a pretrained.Exporter.
type Folder struct{}

// The files of a Folder.
const (
	headerFile  = "layerscale.json"
	tensorsFile = "tensors.safetensors"
)

// header is the content of headerFile.
type header struct {
	Version   int             `json:"version"`
	Model     json.RawMessage `json:"model"`
	Tokenizer string          `json:"tokenizer"`
}

// Name returns the format's name, for convert -format.
func (Folder) Name() string { return "layerscale" }

// Wants describes the folder.
func (Folder) Wants() string { return "a folder of LayerScale's example (with " + headerFile + ")" }

// Recognises tells whether the folder has the header.
func (Folder) Recognises(path string) bool {
	_, err := os.Stat(filepath.Join(path, headerFile))
	return err == nil
}

// Import reads the header and the tensors.
func (Folder) Import(zoo models.Zoo, path string) (*pretrained.Model, error) {
	file := filepath.Join(path, headerFile)
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, errors.WithStack(err)
	}
	var h header
	if err := json.Unmarshal(text, &h); err != nil {
		return nil, errors.Wrapf(err, "%s: want a JSON object", file)
	}
	c, err := zoo.UnmarshalVersion(h.Version, h.Model)
	if err != nil {
		return nil, errors.Wrapf(err, "%s: model", file)
	}
	m := &pretrained.Model{}
	m.Data.Tokenizer, m.Source.ModelPath = h.Tokenizer, filepath.Join(path, tensorsFile)
	if m.Spec, err = c.Resolve(); err != nil {
		return nil, errors.Wrap(err, file)
	}
	weights, err := checkpoint.ReadTensors(m.Source.ModelPath)
	if err != nil {
		return nil, err
	}
	m.Store, err = pretrained.Serve(m.Spec, renamed(weights.Tensors, ".gamma_1", ".attention.gain", ".gamma_2", ".feedforward.gain"))
	return m, errors.Wrap(err, m.Source.ModelPath)
}

// Format says that the format is a folder and has only float32.
func (Folder) Format() pretrained.Format {
	return pretrained.Format{Help: "a folder of a model on stream " + LayerScale{}.Name() + ": " + headerFile + " and " + tensorsFile, Folder: true,
		Files: []string{headerFile, tensorsFile}}
}

// Export writes the header and the tensors.
func (Folder) Export(m *pretrained.Model, path string, o pretrained.ExportOptions) ([]string, error) {
	if got := m.Spec.Stream.Name(); got != (LayerScale{}).Name() {
		return nil, errors.Errorf("layerscale: model.stream.kind: want %s, got %s", LayerScale{}.Name(), got)
	}
	model, err := json.Marshal(m.Spec.Config)
	if err != nil {
		return nil, errors.WithStack(err)
	}
	text, err := json.Marshal(header{checkpoint.FormatVersion, model, m.Data.Tokenizer})
	if err != nil {
		return nil, errors.WithStack(err)
	}
	tensors := renamed(pretrained.Tensors(m.Store), ".attention.gain", ".gamma_1", ".feedforward.gain", ".gamma_2")
	return nil, checkpoint.WriteFolder(path, o.Replace,
		checkpoint.FolderFile{Name: headerFile, Write: func(w io.Writer) error { _, err := w.Write(text); return err }},
		checkpoint.FolderFile{Name: tensorsFile, Write: func(w io.Writer) error { return checkpoint.EncodeTensors(w, tensors, nil) }})
}

// renamed returns the tensors after replacing, in their names, the first text of each pair by the
// second.
func renamed(tensors []checkpoint.Tensor, pairs ...string) []checkpoint.Tensor {
	names := strings.NewReplacer(pairs...)
	for i := range tensors {
		tensors[i].Name = names.Replace(tensors[i].Name)
	}
	return tensors
}
