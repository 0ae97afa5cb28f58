package pretrained

import (
	"cmp"
	"maps"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/regular"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/zoo"
)

// Adapted is what a file of adapters says of them and of their base, the model that they change.
type Adapted struct {
	runconfig.Lora
	Base         string `json:"base"`                   // path of the base, or zoo:NAME
	Digest       string `json:"digest"`                 // of the base's parameters, see Model.Digest
	Architecture string `json:"architecture,omitempty"` // by whose names the targets chose weights; "": the first that fits
}

// AdaptedFrom returns the description of adapters on a model that was opened by a path.
func AdaptedFrom(base *Model, path string, l runconfig.Lora) (*Adapted, error) {
	if !strings.HasPrefix(path, zoo.Prefix) {
		var err error
		if path, err = filepath.Abs(path); err != nil {
			return nil, errors.WithStack(err)
		}
	}
	return &Adapted{l, path, base.Digest(), base.architecture}, nil
}

// ArchitectureAt returns the architecture of the Hugging Face folder at path, "" if there is none.
func ArchitectureAt(path string) string {
	var c struct {
		Type string `json:"model_type"`
	}
	text, err := regular.Read(filepath.Join(path, checkpoint.HuggingFaceConfig), maxHuggingFaceConfig)
	if err != nil || checkpoint.IsRun(path) || unmarshal(text, &c) != nil {
		return ""
	}
	return c.Type
}

// Digest returns the sha256 of the model's parameters, whatever the format of its file.
func (m *Model) Digest() string { return checkpoint.Digest(Tensors(m.Store)) }

// Lora holds a model's adapters (LoRA), which its Store's weights contain already.
type Lora struct {
	Base     string // where the model without them is
	Adapters []graph.Adapter
	Values   map[string][]float32 // of their parameters
}

// adapt opens the base of the adapters that a file holds, and sets the Store to the base's weights
// as the adapters change them.
func (m *Model) adapt(base string, tensors []checkpoint.Tensor) error {
	of := m.Adapted
	m.Adapted, m.architecture = nil, of.Architecture // the model that this makes is whole
	on, err := OpenOn(cmp.Or(base, of.Base), "", m.Zoo)
	if err != nil {
		return errors.Wrapf(err, "the model that the adapters change: if it is no longer at %s, name it by -base, in training by train.init_from", of.Base)
	}
	if got := on.Digest(); got != of.Digest {
		return errors.Wrapf(ErrOtherModel, "want the model that the adapters were trained on, of digest %.12s, got %s of digest %.12s", of.Digest,
			on.Source.ModelPath, got)
	}
	adapters, err := Adapters(m.Zoo, m.Spec, of.Architecture, of.Lora)
	if err != nil {
		return err
	}
	plan, err := planOf(m.Spec, adapters...)
	if err != nil {
		return err
	}
	values, err := Match(shapesOf(plan.Trained()), tensors)
	if err != nil {
		return err
	}
	return m.changeBy(on, plan, &Lora{Base: cmp.Or(base, of.Base), Adapters: adapters, Values: values})
}

// changeBy sets the Store to the base on, as the adapters change it. plan lists the parameters of
// both.
func (m *Model) changeBy(on *Model, plan *graph.Store, l *Lora) error {
	values := maps.Clone(l.Values)
	for _, t := range Tensors(on.Store) {
		values[t.Name] = t.Data.([]float32)
	}
	store, err := fill(plan, values)
	if err == nil {
		m.Store, err = store.Merged()
	}
	m.Lora, m.folder = l, cmp.Or(on.folder, filepath.Dir(on.Source.ModelPath))
	return err
}
