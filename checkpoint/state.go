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

// Names of files in a step folder.
const (
	ModelFile     = "model.safetensors"
	OptimizerFile = "optimizer.safetensors"
	StateFile     = "state.json"
)

// State is the state of a run after a step: all that a resumed run needs besides weights and
// moments.
type State struct {
	Version           int    `json:"version"`            // set by Save: FormatVersion
	Step              int    `json:"step"`               // steps done; also in the folder's name
	Tokens            int64  `json:"tokens"`             // tokens seen
	BatchPosition     uint64 `json:"batch_position"`     // the next batch in the seeded order
	CorpusFingerprint string `json:"corpus_fingerprint"` // a run with another corpus must not resume
	ConfigDigest      string `json:"config_digest"`      // SHA-256 of the resolved run config without out and the keys of ranks; lower-case hex
	Run               string `json:"run,omitempty"`      // the run's identity; "": saved by an earlier program, which had none
	// version of the arithmetic of the training so far, graph.Numerics; 0: saved before it had
	// versions
	Numerics int `json:"numerics,omitempty"`
	// the processor's instructions that the training so far depends on, graph.PathOf; "": on a GPU,
	// or saved by an earlier program
	Path           string            `json:"path,omitempty"`
	Seed           uint64            `json:"seed"`
	OptimizerSteps int               `json:"optimizer_steps"`      // updates applied; the t of Adam's bias correction
	BadSteps       int               `json:"bad_steps"`            // updates skipped because the loss or the gradient was not finite
	BadInRow       int               `json:"bad_in_row,omitempty"` // how many of the most recent updates, in a row, were skipped
	GoodStep       *int              `json:"good_step,omitempty"`  // the newest earlier checkpoint from which a step with a finite loss was made
	BestLoss       *float64          `json:"best_loss"`            // best validation loss, nats a token; nil: none yet
	BestStep       *int              `json:"best_step,omitempty"`  // the step of BestLoss; nil: none yet, or not known
	Files          map[string]string `json:"files"`                // set by Save: sha256 of each file, lower-case hex

	// Extra is for additional values of the caller; each is JSON, compacted on loading.
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

// Checkpoint is the content of a step folder. ModelMetadata must have the model's configuration
// under [MetadataConfig], see [WriteModel]; after [Load] it also has version, kind and digest.
type Checkpoint struct {
	State            State
	Model, Optimizer []Tensor
	ModelMetadata    map[string]string
}

// stored returns the state as Save writes it. JSON has no NaN or infinity, so such a best loss is
// stored as none.
func (s State) stored(files map[string]string) State {
	s.Version, s.Files = FormatVersion, files
	if s.BestLoss != nil && (math.IsNaN(*s.BestLoss) || math.IsInf(*s.BestLoss, 0)) {
		s.BestLoss = nil
	}
	return s
}

// check refuses numbers that no run can have.
func (s State) check() error {
	for _, n := range []struct {
		key   string
		value int64
	}{{"step", int64(s.Step)}, {"tokens", s.Tokens}, {"optimizer_steps", int64(s.OptimizerSteps)}, {"bad_steps", int64(s.BadSteps)},
		{"bad_in_row", int64(s.BadInRow)}} {
		if n.value < 0 {
			return errors.Errorf("state of step %d: %s: want >= 0, got %d", s.Step, n.key, n.value)
		}
	}
	if s.OptimizerSteps > s.Step {
		return errors.Errorf("state of step %d: optimizer_steps: want at most the steps done, got %d", s.Step, s.OptimizerSteps)
	}
	return nil
}

// ReadState reads only the state.json of a step folder; Load also checks the other files.
func ReadState(dir string) (State, error) { return readState(filepath.Join(dir, StateFile)) }

func readState(path string) (State, error) {
	var s State
	if err := readSealed(path, &s); err != nil {
		return State{}, err
	}
	if err := s.check(); err != nil {
		return State{}, errors.Wrap(&DamagedError{err.Error()}, path)
	}
	name := filepath.Base(filepath.Dir(path))
	step, ok := parseStepName(strings.TrimPrefix(name, asidePrefix))
	if !ok {
		step, ok = parseLogName(name)
	}
	if ok && step != s.Step {
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
