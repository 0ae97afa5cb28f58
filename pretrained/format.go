package pretrained

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/models"
)

// Importer reads models that another program wrote. Importers lists ours; models.Zoo.WithKinds adds one.
type Importer interface {
	Name() string // of the format
	// Wants describes what Recognises looks for, for help and errors: "a Hugging Face folder (with config.json)".
	Wants() string
	// Recognises tells whether the file or folder at path is of the format, by the names of files or by first bytes.
	Recognises(path string) bool
	// Import reads the model at path. It sets the model's Description, its Store, which Serve makes of tensors with our
	// names and shapes, and in its Source the ModelPath that errors name, and Warnings.
	Import(zoo models.Zoo, path string) (*Model, error)
}

// Exporter writes models in a format. Exporters lists ours; models.Zoo.WithKinds adds one.
type Exporter interface {
	Name() string // of the format, for convert -format
	Format() Format
	// Export writes the model at path, whole or not at all, and returns what whoever reads it should know, a line each.
	// The error of a model that the format cannot hold names the option of the model.
	Export(m *Model, path string, o ExportOptions) (notes []string, err error)
}

// Format is what an Exporter writes.
type Format struct {
	Help   string   // what is written, and of which models: a line of convert's help
	Folder bool     // a folder; else one file
	Types  []string // what weights can be written as other than f32
}

// ExportOptions say how a model is exported. Each format takes those that it knows.
type ExportOptions struct {
	Replace      bool   `yaml:"replace" help:"replace the file or the folder that is at -out already"`
	Architecture string `yaml:"architecture" help:"with -format huggingface: write a <NAME>, one of the architectures below, or say what keeps the model from being one; without, the first that it is"`
	Type         string `yaml:"type" default:"f32" help:"write weights of <TYPE>: f32, or what the format has in addition"` // "": f32
	IDsAlone     bool   // gguf: writes a model without a tokenizer, too, which llama.cpp's server cannot open
}

// Importers lists those of a zoo, which are asked first, and ours.
func Importers(zoo models.Zoo) []Importer {
	return append(models.KindsOf[Importer](zoo), huggingFace{}, rmtLayout{})
}

// Exporters lists ours and those of a zoo.
func Exporters(zoo models.Zoo) []Exporter {
	return append([]Exporter{ownFile{}, huggingFace{}, rmtLayout{}, gguf{}}, models.KindsOf[Exporter](zoo)...)
}

// ImporterOf is the Importer that recognises what is at path; the error names what all of them look for.
func ImporterOf(zoo models.Zoo, path string) (Importer, error) {
	var wants []string
	for _, i := range Importers(zoo) {
		if i.Recognises(path) {
			return i, nil
		}
		wants = append(wants, i.Wants())
	}
	return nil, errors.Errorf("want %s", strings.Join(wants, ", or "))
}

// Export writes the model in the format of an Exporter of its zoo, and returns what whoever reads it should know.
func (m *Model) Export(format, path string, o ExportOptions) (notes []string, err error) {
	e, err := models.Find("format", Exporters(m.Zoo), format)
	if err != nil {
		return nil, err
	}
	return e.Export(m, path, o)
}

// holds tells whether a folder has a file of that name.
func holds(folder, name string) bool {
	_, err := os.Stat(filepath.Join(folder, name))
	return err == nil
}
