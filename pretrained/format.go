package pretrained

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/internal/regular"
	"github.com/residua-go/residua/models"
)

// Importer reads models that other programs wrote. Importers lists ours; models.Zoo.WithKinds adds
// one.
type Importer interface {
	Name() string // name of the format
	// Wants describes what Recognises looks for, for help and errors: "a Hugging Face folder (with
	// config.json)".
	Wants() string
	// Recognises tells whether the file or folder at path has the format, by file names or first
	// bytes.
	Recognises(path string) bool
	// Import reads the model at path. It sets the model's Description, its Store (by Serve,
	// from tensors with our names and shapes), and in its Source the ModelPath, for errors,
	// and the Warnings.
	Import(zoo models.Zoo, path string) (*Model, error)
}

// Exporter writes models in a format. Exporters lists ours; models.Zoo.WithKinds adds one.
type Exporter interface {
	Name() string // name of the format, for convert -format
	Format() Format
	// Export writes the model at path, completely or not at all, and returns notes for whoever
	// reads the result, one line each. If the format cannot hold the model, the error names the
	// option of the model that is the reason.
	Export(m *Model, path string, o ExportOptions) (notes []string, err error)
}

// Format describes what an Exporter writes.
type Format struct {
	Help   string   // what is written, and for which models: a line of convert's help
	Folder bool     // a folder instead of a single file
	Files  []string // names of the files that Export may write into the folder; others are not ours to replace
	Types  []string // types in which weights can be written, in addition to f32
}

// ExportOptions say how a model is exported. Each format uses those that it knows.
type ExportOptions struct {
	Replace      bool   `yaml:"replace" help:"replace the file or the folder that is at -out already"`
	Architecture string `yaml:"architecture" help:"with -format huggingface: write the architecture <NAME> (listed below); without, the first that fits"`
	Type         string `yaml:"type" default:"f32" help:"write weights of <TYPE>: f32, or another type of the format"` // "": f32
	IDsAlone     bool   // gguf: write models without a tokenizer, too, which llama.cpp's server cannot open
	Disk         checkpoint.Disk
}

// Importers lists the importers of a zoo, which are tried first, and the built-in ones.
func Importers(zoo models.Zoo) []Importer {
	return append(models.KindsOf[Importer](zoo), peft{}, huggingFace{}, rmtLayout{}, nanoGPT{}, nanoChatNative{}, gguf{})
}

// Exporters lists the built-in exporters and those of a zoo.
func Exporters(zoo models.Zoo) []Exporter {
	return append([]Exporter{ownFile{}, huggingFace{}, peft{}, rmtLayout{}, gguf{}}, models.KindsOf[Exporter](zoo)...)
}

// ExportedFiles returns the names of the files that exports may write into folders.
func ExportedFiles(zoo models.Zoo) (names []string) {
	for _, e := range Exporters(zoo) {
		names = append(names, e.Format().Files...)
	}
	for _, a := range architectures(zoo) {
		names = append(names, a.CodeFile)
	}
	return names
}

// ImporterOf returns the Importer that recognises what is at path; its error names what all of them
// look for.
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

// Export writes the model with the Exporter for the given format and returns notes for whoever
// reads the result.
func (m *Model) Export(format, path string, o ExportOptions) (notes []string, err error) {
	e, err := models.Find("format", Exporters(m.Zoo), format)
	if err != nil {
		return nil, err
	}
	return e.Export(m, path, o)
}

// holds tells whether a folder has a file with that name.
func holds(folder, name string) bool {
	_, err := os.Stat(filepath.Join(folder, name))
	return err == nil
}

// begins tells whether a regular file begins with these bytes.
func begins(path, lead string) bool {
	f, _, err := regular.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	got := make([]byte, len(lead))
	_, err = io.ReadFull(f, got)
	return err == nil && string(got) == lead
}
