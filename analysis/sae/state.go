package sae

import (
	"encoding/json"
	"os"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/models/check"
)

// state is how far a training has come.
type state struct {
	Config  Config     `json:"config"`
	Options Options    `json:"options"`
	Digest  string     `json:"digest"` // of the model and the text
	Chunk   int        `json:"chunk"`  // the next
	Steps   int        `json:"steps"`
	Scale   [2]float64 `json:"scale"` // of x and of want
	idle    []int32    // steps since each feature was active
}

// stateKey is the key of the state in a file's metadata.
const stateKey = "sae"

// save writes the state, the parameters and the moments to one file, whole or not at all.
func (t *trainer) save(file string) error {
	s := t.state
	s.Config, s.Options, s.Digest, s.Steps = t.Config, t.o, t.data.Digest, t.optimizer.Steps()
	text, err := json.Marshal(s)
	if err != nil {
		return errors.WithStack(err)
	}
	all := []checkpoint.Tensor{{Name: "idle", Shape: []int{t.Features}, Data: s.idle}}
	for _, p := range t.Store.Params() {
		all = append(all, checkpoint.Tensor{Name: p.Name, Shape: p.Shape, Data: p.Value.Float32s()})
	}
	for _, m := range t.optimizer.State() {
		all = append(all, checkpoint.Tensor{Name: m.Name, Shape: m.Param.Shape, Data: m.Value.Float32s()})
	}
	return checkpoint.WriteTensors(file, all, map[string]string{stateKey: string(text)})
}

// load continues from a file, if there is one.
func (t *trainer) load(file string) error {
	f, err := checkpoint.ReadTensors(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var s state
	if err := json.Unmarshal([]byte(f.Metadata[stateKey]), &s); err != nil || s.Config != t.Config || s.Options != t.o || s.Digest != t.data.Digest {
		return check.Value("sae", "a folder without the training of other settings, another model or text", file)
	}
	into := map[string][]float32{}
	for _, p := range t.Store.Params() {
		into[p.Name] = p.Value.Float32s()
	}
	for _, m := range t.optimizer.State() {
		into[m.Name] = m.Value.Float32s()
	}
	for _, from := range f.Tensors {
		switch data := from.Data.(type) {
		case []int32:
			copy(t.state.idle, data)
		case []float32:
			copy(into[from.Name], data)
		}
	}
	s.idle = t.state.idle
	t.state = s
	t.optimizer.SetSteps(s.Steps)
	return nil
}
