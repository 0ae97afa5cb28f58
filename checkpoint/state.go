package checkpoint

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"path/filepath"

	"github.com/pkg/errors"
)

// Names inside a step folder.
const (
	ModelFile     = "model.safetensors"
	OptimizerFile = "optimizer.safetensors"
	StateFile     = "state.json"
)

// State is where a run stands after a step: what a resumed run needs beside weights and moments.
type State struct {
	Version           int               `json:"version"`            // set by Save: FormatVersion
	Step              int               `json:"step"`               // steps done; also in the folder's name
	Tokens            int64             `json:"tokens"`             // tokens seen
	BatchPosition     uint64            `json:"batch_position"`     // the next batch of the seeded order
	CorpusFingerprint string            `json:"corpus_fingerprint"` // a changed corpus must not resume
	ConfigDigest      string            `json:"config_digest"`      // of the resolved run config
	Seed              uint64            `json:"seed"`
	OptimizerSteps    int               `json:"optimizer_steps"` // updates applied: the t of Adam's bias correction
	BadSteps          int               `json:"bad_steps"`       // updates left out because of non-finite numbers
	BestLoss          *float64          `json:"best_loss"`       // best validation loss, nats a token; nil: none yet
	Files             map[string]string `json:"files"`           // set by Save: sha256 of each file, lower-case hex

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

// ReadState reads the state.json of a step folder alone; Load compares the other files with it.
func ReadState(dir string) (State, error) { return readState(filepath.Join(dir, StateFile)) }

func readState(path string) (State, error) {
	var s State
	if err := readSealed(path, &s); err != nil {
		return State{}, err
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
