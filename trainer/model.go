package trainer

import (
	"encoding/json"
	"strconv"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// Description is what a model file says of itself: enough to rebuild the graph, to find
// the tokenizer and, where the data is still there, the validation split.
type Description struct {
	Model models.Spec `json:"model"`
	Data  config.Data `json:"data"`
}

// Pretrained is a model read from a file.
type Pretrained struct {
	Description
	Zoo    models.Zoo // that it was opened with
	Store  *graph.Store
	Source checkpoint.Source
	State  *checkpoint.State // of the step folder around the file, nil when it stands alone
}

// OpenModel reads a model of a design in the zoo from a run folder, a step folder, one model file, or a folder
// with a Hugging Face GPT-2 (config.json, model.safetensors).
func OpenModel(zoo models.Zoo, path string) (*Pretrained, error) {
	source, err := checkpoint.Resolve(path)
	if err != nil {
		return nil, err
	}
	if source.Kind == checkpoint.KindHuggingFace {
		return openHuggingFace(zoo, source)
	}
	file, err := checkpoint.ReadModel(source.ModelPath)
	if err != nil {
		return nil, err
	}
	p := &Pretrained{Source: source, Zoo: zoo}
	if p.Description, err = describe(zoo, source.ModelPath, file.Metadata); err != nil {
		return nil, err
	}
	if p.Store, err = serve(p.Model, file.Tensors); err != nil {
		return nil, errors.Wrap(err, source.ModelPath)
	}
	p.readState()
	return p, nil
}

// readState reads the state beside the model; a damaged one is a warning, since the model
// itself is whole.
func (p *Pretrained) readState() {
	if p.Source.StepDir == "" {
		return
	}
	state, err := checkpoint.ReadState(p.Source.StepDir)
	if err != nil {
		p.Source.Warnings = append(p.Source.Warnings, err.Error())
		return
	}
	p.State = &state
}

// describe reads the description in a model file's metadata.
func describe(zoo models.Zoo, path string, metadata map[string]string) (Description, error) {
	var read struct {
		Model json.RawMessage `json:"model"`
		Data  config.Data     `json:"data"`
	}
	err := json.Unmarshal([]byte(metadata[checkpoint.MetadataConfig]), &read)
	d := Description{Data: read.Data}
	if err == nil {
		d.Model, err = resolved(zoo, metadata[checkpoint.MetadataVersion], read.Model)
	}
	return d, errors.Wrapf(err, "%s: metadata %s: want a model description", path, checkpoint.MetadataConfig)
}

// resolved is the model that a file of a format version describes.
func resolved(zoo models.Zoo, version string, text []byte) (models.Spec, error) {
	number, err := strconv.Atoi(version)
	if err != nil {
		return models.Spec{}, errors.WithStack(err)
	}
	c, err := zoo.UnmarshalVersion(number, text)
	if err != nil {
		return models.Spec{}, err
	}
	return c.Resolve()
}

// serve returns a Store that serves a model from a file's tensors, which become its
// parameters. Until names and shapes agree, nothing is allocated that the file's size does not
// justify, whatever the config says.
func serve(c models.Spec, tensors []checkpoint.Tensor) (*graph.Store, error) {
	entries := 0
	for _, t := range tensors {
		entries += t.Len()
	}
	if err := c.CheckCount(entries); err != nil {
		return nil, err
	}
	plan := graph.NewPlan(tensor.Float32)
	if _, err := models.New(gorgonia.NewGraph(), c, models.WithStore(plan)); err != nil {
		return nil, err
	}
	targets := map[string]target{}
	for _, p := range plan.Params() {
		targets[p.Name] = target{shape: p.Shape}
	}
	given, err := match(targets, tensors)
	if err != nil {
		return nil, err
	}
	for _, p := range plan.Params() {
		p.Value = tensor.New(tensor.WithShape(p.Shape...), tensor.WithBacking(given[p.Name]))
	}
	return plan.Serve(), nil
}

// values returns the Store's parameters as tensors that share its memory.
func values(s *graph.Store) []checkpoint.Tensor {
	var tensors []checkpoint.Tensor
	for _, p := range s.Params() {
		tensors = append(tensors, checkpoint.Tensor{Name: p.Name, Shape: p.Shape, Data: p.Value.Float32s()})
	}
	return tensors
}

// setValues copies tensors into the Store's parameters. Every parameter must be there,
// in its shape, and nothing else; otherwise nothing is changed.
func setValues(s *graph.Store, tensors []checkpoint.Tensor) error {
	targets := map[string]target{}
	for _, p := range s.Params() {
		targets[p.Name] = target{p.Shape, p.Value}
	}
	return assign(targets, tensors)
}

// The optimizer file holds two tensors a parameter.
const (
	moment1Suffix = ".moment1"
	moment2Suffix = ".moment2"
)

func moments(s *graph.Store) []checkpoint.Tensor {
	var tensors []checkpoint.Tensor
	for _, p := range s.Params() {
		tensors = append(tensors,
			checkpoint.Tensor{Name: p.Name + moment1Suffix, Shape: p.Shape, Data: p.Moment1.Float32s()},
			checkpoint.Tensor{Name: p.Name + moment2Suffix, Shape: p.Shape, Data: p.Moment2.Float32s()})
	}
	return tensors
}

func setMoments(s *graph.Store, tensors []checkpoint.Tensor) error {
	targets := map[string]target{}
	for _, p := range s.Params() {
		if err := s.EnsureMoments(p); err != nil {
			return err
		}
		targets[p.Name+moment1Suffix] = target{p.Shape, p.Moment1}
		targets[p.Name+moment2Suffix] = target{p.Shape, p.Moment2}
	}
	return assign(targets, tensors)
}

// target is a tensor to be filled from a file.
type target struct {
	shape []int
	value *tensor.Dense
}

// assign copies tensors to the targets of their names, after checking all of them.
func assign(targets map[string]target, tensors []checkpoint.Tensor) error {
	given, err := match(targets, tensors)
	if err != nil {
		return err
	}
	for name, to := range targets {
		copy(to.value.Float32s(), given[name])
	}
	return nil
}

// match returns the data of tensors by name. Every target must be there, in its shape, and
// nothing else.
func match(targets map[string]target, tensors []checkpoint.Tensor) (map[string][]float32, error) {
	given := map[string][]float32{}
	for _, t := range tensors {
		to, ok := targets[t.Name]
		if !ok {
			return nil, errors.Errorf("tensor %q: the model has none of that name: it is a checkpoint of another model", t.Name)
		}
		if !tensor.Shape(to.shape).Eq(tensor.Shape(t.Shape)) {
			return nil, errors.Errorf("tensor %q: want shape %v, got %v: it is a checkpoint of another model", t.Name, to.shape, t.Shape)
		}
		data, err := t.Float32s()
		if err != nil {
			return nil, err
		}
		given[t.Name] = data
	}
	for name := range targets {
		if _, ok := given[name]; !ok {
			return nil, errors.Errorf("tensor %q: want it for the model, the file has none: it is a checkpoint of another model", name)
		}
	}
	return given, nil
}
