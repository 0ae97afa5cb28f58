package experiment

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/trainer"
)

// Record is a line of an experiment's log.jsonl: a run that is complete, and all that reports are made of.
type Record struct {
	Run         string         `json:"run"` // its folder's name
	Series      string         `json:"series"`
	Point       string         `json:"point,omitempty"`
	Seed        uint64         `json:"seed"`
	Settings    []string       `json:"settings"`       // over the experiment's base
	Config      string         `json:"config"`         // a digest of base and settings
	Parameters  int            `json:"parameters"`     // all of them
	Tables      int            `json:"tables"`         // those of embedding, positions and unembedding
	FLOPs       int            `json:"train_flops"`    // a token, forward and backward
	StreamSize  int            `json:"stream_entries"` // a token
	Memory      int            `json:"planned_bytes"`
	Tokens      int64          `json:"tokens"`
	Seconds     float64        `json:"seconds"` // of training steps, without evaluations and checkpoints
	Jobs        int            `json:"jobs"`    // runs that were trained side by side
	Loss        trainer.Number `json:"val_loss"`
	Bits        trainer.Number `json:"bits_per_byte"`
	Evaluations []Evaluation   `json:"evaluations,omitempty"` // on the way, where there is more than one
}

// Evaluation is the loss on validation text in the course of a run.
type Evaluation struct {
	Tokens  int64          `json:"tokens"`
	Seconds float64        `json:"seconds"`
	Loss    trainer.Number `json:"val_loss"`
}

// NonEmbedding is the number of parameters outside the embedding, position and unembedding tables.
func (r Record) NonEmbedding() int { return r.Parameters - r.Tables }

// TotalFLOPs are those of the whole run.
func (r Record) TotalFLOPs() float64 { return float64(r.FLOPs) * float64(r.Tokens) }

// record is the line of a complete run.
func (p Planned) record(result *Result, jobs int) Record {
	cost := p.Run.Spec().Cost()
	r := Record{Run: p.Name, Series: p.Series, Point: p.Point, Seed: p.Seed, Settings: p.Settings, Config: p.digest,
		Parameters: cost.Parameters, Tables: cost.Embedding, FLOPs: cost.TrainFLOPs(), StreamSize: cost.StreamSize, Memory: result.Memory,
		Tokens: result.Tokens, Jobs: jobs, Loss: result.Loss, Bits: result.Bits}
	for _, m := range result.Steps {
		r.Seconds += float64(p.Run.StepTokens()) / m.TokensPS
		if m.ValLoss != nil {
			r.Evaluations = append(r.Evaluations, Evaluation{m.Tokens, r.Seconds, *m.ValLoss})
		}
	}
	if len(r.Evaluations) == 1 {
		r.Evaluations = nil
	}
	return r
}

// ReadLog reads the log in an experiment's folder; there is none before the first run is complete. A last line that was torn
// by a crash is left out. A run that has two lines is refused.
func ReadLog(out string) ([]Record, error) {
	file := filepath.Join(out, logFile)
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, errors.WithStack(err)
	}
	var all []Record
	places := map[string]int{} // of runs: their lines
	lines := bytes.Split(text, []byte("\n"))
	for i, line := range lines {
		var r Record
		switch err := json.Unmarshal(line, &r); {
		case len(bytes.TrimSpace(line)) == 0:
		case err != nil && i == len(lines)-1: // torn
		case err != nil:
			return nil, Setupf("%s:%d: want the line of a run as experiment writes it, got %v: remove the line", file, i+1, err)
		case places[r.Run] > 0:
			return nil, Setupf("%s:%d: want one line for each run, got %s in line %d, too: remove one of the two", file, i+1, r.Run, places[r.Run])
		default:
			all, places[r.Run] = append(all, r), i+1
		}
	}
	return all, nil
}

// writeLog writes the whole log anew, so that a crash leaves the old or the new one.
func writeLog(out string, all []Record) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return errors.WithStack(err)
	}
	return checkpoint.WriteFileAtomic(filepath.Join(out, logFile), func(w io.Writer) error {
		buffered := bufio.NewWriter(w)
		encoder := json.NewEncoder(buffered)
		for _, r := range all {
			if err := encoder.Encode(r); err != nil {
				return err
			}
		}
		return buffered.Flush()
	})
}

// unlike says how a record's config differs from that of a run.
func (p Planned) unlike(r Record) string {
	without := func(all, others []string) (left []string) {
		for _, s := range all {
			if !slices.Contains(others, s) {
				left = append(left, s)
			}
		}
		return left
	}
	theirs, own := without(r.Settings, p.Settings), without(p.Settings, r.Settings)
	if len(theirs)+len(own) == 0 {
		return "of another base or with settings in another order"
	}
	return fmt.Sprintf("%v instead of %v", theirs, own)
}

// Log reads the log of an experiment. A line of a run with another config than the experiment's is refused.
func (p *Plan) Log() ([]Record, error) {
	log, err := ReadLog(p.out)
	if err == nil {
		_, err = p.todo(log)
	}
	return log, err
}

// find returns the record of a run, nil if it is not in the log. One of other settings is refused.
func (p Planned) find(all []Record) (*Record, error) {
	for i := range all {
		if all[i].Run != p.Name {
			continue
		}
		if p.digest != all[i].Config {
			return nil, Setupf("%s: its line in %s is of a run with another config, %s: choose another -out, or remove the line and the run's folder", p.Name, logFile, p.unlike(all[i]))
		}
		return &all[i], nil
	}
	return nil, nil
}
