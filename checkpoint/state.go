package checkpoint

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"
)

// Names inside a step folder.
const (
	ModelFile     = "model.safetensors"
	OptimizerFile = "optimizer.safetensors"
	StateFile     = "state.json"
)

// State is where a run stands after a step: what a resumed run needs besides weights and moments.
type State struct {
	Version           int               `json:"version"`            // set by Save: FormatVersion
	Step              int               `json:"step"`               // steps done; also in the folder's name
	Tokens            int64             `json:"tokens"`             // tokens seen
	BatchPosition     uint64            `json:"batch_position"`     // the next batch of the seeded order
	CorpusFingerprint string            `json:"corpus_fingerprint"` // a changed corpus must not resume
	ConfigDigest      string            `json:"config_digest"`      // sha256 of the resolved run config without its out; lower-case hex
	Run               string            `json:"run,omitempty"`      // the run's identity; "": saved by a program that gave none
	Numerics          int               `json:"numerics,omitempty"` // the arithmetic that trained so far: graph.Numerics; 0: from before it had numbers
	Seed              uint64            `json:"seed"`
	OptimizerSteps    int               `json:"optimizer_steps"`      // updates applied: the t of Adam's bias correction
	BadSteps          int               `json:"bad_steps"`            // updates left out because of non-finite numbers
	BadInRow          int               `json:"bad_in_row,omitempty"` // those of them that were the last updates
	GoodStep          *int              `json:"good_step,omitempty"`  // the newest earlier checkpoint whose weights made a finite loss
	BestLoss          *float64          `json:"best_loss"`            // best validation loss, nats a token; nil: none yet
	BestStep          *int              `json:"best_step,omitempty"`  // the step of BestLoss; nil: none yet, or not known
	Files             map[string]string `json:"files"`                // set by Save: sha256 of each file, lower-case hex

	// Extra is for whoever needs more; each value is JSON, compacted on loading.
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

// Checkpoint is what a step folder holds. ModelMetadata needs the model's configuration under [MetadataConfig], see
// [WriteModel]; after [Load] it also has version, kind and digest.
type Checkpoint struct {
	State            State
	Model, Optimizer []Tensor
	ModelMetadata    map[string]string
}

// stored returns the state as Save writes it. JSON has no NaN or infinity: such a best loss is stored as none.
func (s State) stored(files map[string]string) State {
	s.Version, s.Files = FormatVersion, files
	if s.BestLoss != nil && (math.IsNaN(*s.BestLoss) || math.IsInf(*s.BestLoss, 0)) {
		s.BestLoss = nil
	}
	return s
}

// check refuses numbers that no run comes to.
func (s State) check() error {
	for _, n := range []struct {
		key   string
		value int64
	}{{"step", int64(s.Step)}, {"tokens", s.Tokens}, {"optimizer_steps", int64(s.OptimizerSteps)}, {"bad_steps", int64(s.BadSteps)}, {"bad_in_row", int64(s.BadInRow)}} {
		if n.value < 0 {
			return errors.Errorf("state of step %d: %s: want >= 0, got %d", s.Step, n.key, n.value)
		}
	}
	if s.OptimizerSteps > s.Step {
		return errors.Errorf("state of step %d: optimizer_steps: want at most the steps done, got %d", s.Step, s.OptimizerSteps)
	}
	return nil
}

// ReadState reads the state.json of a step folder alone; Load compares the other files with it.
func ReadState(dir string) (State, error) { return readState(filepath.Join(dir, StateFile)) }

func readState(path string) (State, error) {
	var s State
	if err := readSealed(path, &s); err != nil {
		return State{}, err
	}
	if err := s.check(); err != nil {
		return State{}, errors.Wrap(&DamagedError{err.Error()}, path)
	}
	if step, ok := parseStepName(strings.TrimPrefix(filepath.Base(filepath.Dir(path)), asidePrefix)); ok && step != s.Step {
		return State{}, damagedf("%s: it is of step %d, its folder's name says %d: damaged, or a renamed folder", path, s.Step, step)
	}
	for key, value := range maps.Clone(s.Extra) {
		var compact bytes.Buffer
		if err := json.Compact(&compact, value); err != nil {
			return State{}, errors.Wrapf(err, "%s: extra %q", path, key)
		}
		s.Extra[key] = compact.Bytes()
	}
	return s, nil
}
