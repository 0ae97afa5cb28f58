package commandline

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
	"github.com/residua-go/residua/zoo"
)

// Model holds the settings of a command that uses a trained model.
type Model struct {
	Checkpoint
	Place
	ReadSpecial bool // the names of special tokens in a text are these tokens
}

// Special holds the setting that says how prompts spell special tokens.
type Special struct {
	Special bool `yaml:"special" help:"read the name of a special token in a prompt as that token, as transformers does; without, it is text like any other"`
}

// Checkpoint holds the setting that says where the model is, and the Zoo with its designs.
type Checkpoint struct {
	Zoo  models.Zoo
	Path string `yaml:"checkpoint" alone:"[CHECKPOINT]"`
	Base string `yaml:"base" help:"if -checkpoint holds adapters: the model in <PATH>, which they change; without, the one that they were trained on"`
}

// Help returns the help texts that are too long for tags, by key.
func (Checkpoint) Help() map[string]string {
	return map[string]string{
		"checkpoint": "read the model from <PATH>: a run folder (its newest checkpoint), a step folder, a .safetensors file, zoo:NAME (a " +
			"trained model that comes with Residua), or a folder of another program's, as of Hugging Face's (convert -h lists them)",
	}
}

// Cores holds the setting for the number of threads.
type Cores struct {
	Threads int `yaml:"threads" min:"0" max:"1024" help:"use <N> CPU threads; 0: one per core"`
}

// Place holds the settings that say where and how precisely a model runs.
type Place struct {
	Cores
	Device    graph.Device    `yaml:"device" default:"cpu" help:"run the model on <DEVICE>: cpu, cuda or, of several GPUs, cuda:1"` // "": cpu
	Precision graph.Precision `yaml:"precision"`
}

// Help returns the help texts that are too long for tags, by key.
func (Place) Help() map[string]string {
	return map[string]string{
		"precision": "with -device cuda: compute matrix products in <TYPE>: fp32, tf32 or bf16; without, tf32. On the CPU: store the " +
			"weights of products in fp32, bf16 or int8; without, fp32",
	}
}

// Open reads the model and its tokenizer. It reports errors in either as errors of the call.
func (m *Model) Open(out Output) (*pretrained.Model, data.Tokenizer, error) {
	p, tokenizer, err := m.OpenIDs(out)
	if err == nil && tokenizer == nil {
		err = Usagef("-checkpoint: %s: want a model with a tokenizer, got one of %d token ids without: this command reads text", p.Source.ModelPath, p.Spec.Vocab)
	}
	return p, tokenizer, err
}

// OpenIDs does what Open does for a command that also takes token ids: if the model has no
// tokenizer, the tokenizer is nil.
func (m *Model) OpenIDs(out Output) (*pretrained.Model, data.Tokenizer, error) {
	p, err := m.OpenModel(out)
	if err != nil || p.Data.Tokenizer == "" {
		return p, nil, err
	}
	p.ReadSpecial = m.ReadSpecial
	tokenizer, err := p.Tokenizer()
	return p, tokenizer, Usage(errors.Wrap(err, p.Source.ModelPath))
}

// OpenModel reads the model without its tokenizer.
func (m *Model) OpenModel(out Output) (*pretrained.Model, error) {
	m.Device = cmp.Or(m.Device, graph.CPU)
	if m.Path == "" {
		return nil, Usagef("-checkpoint: want %s, got nothing", available())
	}
	if err := checkPlace(m.Place); err != nil {
		return nil, err
	}
	p, err := m.OpenPath()
	if err != nil {
		return nil, err
	}
	for _, w := range p.Source.Warnings {
		out.Warn(w)
	}
	return p, nil
}

// OpenPath reads the model. If its path does not exist, the error names models that do.
func (c Checkpoint) OpenPath() (*pretrained.Model, error) {
	p, err := pretrained.OpenOn(c.Path, c.Base, c.Zoo)
	if _, missing := os.Stat(c.Path); errors.Is(err, fs.ErrNotExist) && errors.Is(missing, fs.ErrNotExist) {
		return nil, Usagef("-checkpoint: want %s, got %s, which does not exist", available(), c.Path)
	}
	return p, Usage(errors.Wrap(err, "-checkpoint"))
}

// runsNamed is how many runs an error names.
const runsNamed = 5

// available describes what -checkpoint may be: the models that come with Residua, and those here.
func available() string {
	var names []string
	for _, name := range zoo.Standard().Names() {
		names = append(names, zoo.Prefix+name)
	}
	runs, _ := filepath.Glob("runs/*/checkpoints") // the pattern is right
	for _, folder := range runs[:min(len(runs), runsNamed)] {
		names = append(names, filepath.Dir(folder))
	}
	return strings.Join(names, ", ") + ", a run folder (train -config quickstart makes runs/quickstart), a step folder, a .safetensors file, or a folder " +
		"of Hugging Face's that is on this machine"
}
