package experiment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/analysis/mixing"
	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/eval"
)

// Record is a line of an experiment's log.jsonl: a run that is complete, and all that reports are
// made of.
type Record struct {
	Run         string         `json:"run"` // its folder's name
	Series      string         `json:"series"`
	Point       string         `json:"point,omitempty"`
	Seed        uint64         `json:"seed"`
	Settings    []string       `json:"settings"`         // over the experiment's base
	Config      string         `json:"config"`           // its identity: a digest of what config.Run.Canonical says; of earlier programs, of base and settings
	Corpus      string         `json:"corpus,omitempty"` // the beginning of its fingerprint
	Rate        float64        `json:"lr,omitempty"`     // the peak
	Parameters  int            `json:"parameters"`       // all of them
	Tables      int            `json:"tables"`           // those of embedding, positions and unembedding
	FLOPs       int            `json:"train_flops"`      // a token, forward and backward
	StreamSize  int            `json:"stream_entries"`   // a token
	Memory      int            `json:"planned_bytes"`
	Tokens      int64          `json:"tokens"`
	Seconds     float64        `json:"seconds"` // of training steps, without evaluations and checkpoints
	Jobs        int            `json:"jobs"`    // runs that were trained side by side
	Loss        eval.Number    `json:"val_loss"`
	Bits        eval.Number    `json:"bits_per_byte"`
	Evaluations []Evaluation   `json:"evaluations,omitempty"` // on the way, where there is more than one
	Curve       []eval.Number  `json:"train_loss,omitempty"`  // means over parts of equal length
	Mixing      []mixing.Brief `json:"mixing,omitempty"`      // the last that train.log_mixing wrote
	Activations []Activation   `json:"activations,omitempty"` // with coordinates
}

// Evaluation is the loss on validation text in the course of a run.
type Evaluation struct {
	Tokens  int64       `json:"tokens"`
	Seconds float64     `json:"seconds"`
	Loss    eval.Number `json:"val_loss"`
}

// NonEmbedding is the number of parameters outside the embedding, position and unembedding tables.
func (r Record) NonEmbedding() int { return r.Parameters - r.Tables }

// TotalFLOPs counts the whole run.
func (r Record) TotalFLOPs() float64 { return float64(r.FLOPs) * float64(r.Tokens) }

// readLog reads the log in the experiment's folder, which is empty before the first run is
// complete. A last line that was torn by a crash is left out. A run that has two lines, one of a
// run with another config, and one on another text are refused. whole is the text of the lines,
// each with a line feed.
func (p *Plan) readLog() (whole []byte, err error) {
	file := filepath.Join(p.out, logFile)
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		return nil, errors.WithStack(err)
	}
	p.log = map[string]Record{}
	places := map[string]int{} // of runs: their lines
	lines := bytes.Split(text, []byte("\n"))
	for i, line := range lines {
		var r Record
		switch err := json.Unmarshal(line, &r); {
		case len(bytes.TrimSpace(line)) == 0, err != nil && i == len(lines)-1: // torn
			continue
		case err != nil:
			return nil, Setupf("%s:%d: want the line of a run as experiment writes it, got %v: remove the line", file, i+1, err)
		case places[r.Run] > 0:
			return nil, Setupf("%s:%d: want one line for each run, got %s in line %d, too: remove one of the two", file, i+1, r.Run, places[r.Run])
		}
		p.log[r.Run], places[r.Run] = r, i+1
		whole = append(append(whole, line...), '\n')
	}
	_, err = p.todo()
	return whole, err
}

// openLog reads the log and opens it for more lines. A torn line is cut off first.
func (p *Plan) openLog() (*checkpoint.Appender, error) {
	whole, err := p.readLog()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(p.out, logFile)
	if text, err := os.ReadFile(file); err != nil || len(text) > 0 && text[len(text)-1] != '\n' {
		if err := p.disk.WriteFile(file, whole); err != nil {
			return nil, err
		}
	}
	return p.disk.Append(file)
}

// todo are the runs that can be made now.
func (p *Plan) todo() ([]*Planned, error) {
	var todo []*Planned
	for _, c := range p.cells {
		s, err := c.state()
		if err != nil {
			return nil, err
		}
		todo = append(todo, s.todo...)
	}
	return todo, nil
}

// unlike says how a record's config differs from that of a run.
func (r *Planned) unlike(found Record) string {
	without := func(all, others []string) (left []string) {
		for _, s := range all {
			if !slices.Contains(others, s) {
				left = append(left, s)
			}
		}
		return left
	}
	theirs, own := without(found.Settings, r.Settings), without(r.Settings, found.Settings)
	if len(theirs)+len(own) == 0 {
		return "of another base or with settings in another order"
	}
	return fmt.Sprintf("%v instead of %v", theirs, own)
}
