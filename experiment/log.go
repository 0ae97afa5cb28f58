package experiment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/models/mixing"
)

// Record is a line of an experiment's log.jsonl: a completed run, with everything that reports use.
type Record struct {
	Run         string         `json:"run"` // name of its folder
	Series      string         `json:"series"`
	Point       string         `json:"point,omitempty"`
	Seed        uint64         `json:"seed"`
	Settings    []string       `json:"settings"`         // settings in addition to the experiment's base
	Config      string         `json:"config"`           // identity: a digest of runconfig.Run.Canonical; in logs of earlier programs, of base and settings
	Corpus      string         `json:"corpus,omitempty"` // beginning of its fingerprint
	Rate        float64        `json:"lr,omitempty"`     // peak learning rate
	Parameters  int            `json:"parameters"`       // number of all parameters
	Tables      int            `json:"tables"`           // number of those in embedding, positions and unembedding
	FLOPs       int            `json:"train_flops"`      // per token, forward and backward
	StreamSize  int            `json:"stream_entries"`   // per token
	Memory      int            `json:"planned_bytes"`
	Tokens      int64          `json:"tokens"`
	Seconds     float64        `json:"seconds"`           // spent on training steps, without evaluations and checkpoints
	Jobs        int            `json:"jobs"`              // number of runs trained at the same time
	Program     string         `json:"program,omitempty"` // version and commit of the program that completed the run
	Path        string         `json:"path,omitempty"`    // the run's Device.Path on the machine: losses have the same bits on all machines with the same value
	Loss        eval.Number    `json:"val_loss"`
	Bits        eval.Number    `json:"bits_per_byte"`
	Accuracy    eval.Number    `json:"val_accuracy,omitempty"` // only on a task
	Evaluations []Evaluation   `json:"evaluations,omitempty"`  // evaluations during training, if there are several
	Curve       []eval.Number  `json:"train_loss,omitempty"`   // means over parts of equal length
	Mixing      []mixing.Brief `json:"mixing,omitempty"`       // the last measurement by train.log_mixing
	Activations []Activation   `json:"activations,omitempty"`  // only for coordinates
}

// Evaluation is the loss on validation text at a point of a run.
type Evaluation struct {
	Tokens  int64       `json:"tokens"`
	Seconds float64     `json:"seconds"`
	Loss    eval.Number `json:"val_loss"`
}

// nonEmbedding returns the number of parameters outside the embedding, position and unembedding
// tables.
func (r Record) nonEmbedding() int { return r.Parameters - r.Tables }

// TotalFLOPs returns the FLOPs of the whole run.
func (r Record) TotalFLOPs() float64 { return float64(r.FLOPs) * float64(r.Tokens) }

// readLog reads the log in the experiment's folder; before the first run is complete, it is
// empty. A last line that a crash has torn is ignored. A log with two lines for a run, with a
// run of another config, or with a run on another text is an error. whole is the text of the
// valid lines, each with a line feed.
func (p *Plan) readLog() (whole []byte, err error) {
	file := filepath.Join(p.out, logFile)
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		return nil, errors.WithStack(err)
	}
	p.log = map[string]Record{}
	places := map[string]int{} // lines of runs, by name
	lines := bytes.Split(text, []byte("\n"))
	for i, line := range lines {
		var r Record
		switch err := json.Unmarshal(line, &r); {
		case len(bytes.TrimSpace(line)) == 0, err != nil && i == len(lines)-1: // torn
			continue
		case err != nil:
			return nil, setupErrorf("%s:%d: want the line of a run as experiment writes it, got %v: remove the line", file, i+1, err)
		case places[r.Run] > 0:
			return nil, setupErrorf("%s:%d: want one line for each run, got %s in line %d, too: remove one of the two", file, i+1, r.Run, places[r.Run])
		}
		p.log[r.Run], places[r.Run] = r, i+1
		whole = append(append(whole, line...), '\n')
	}
	_, err = p.todo()
	return whole, err
}

// openLog reads the log and opens it to append lines. It first removes a torn line.
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

// todo lists the runs that can be made now.
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

// unlike says which settings of a record differ from the run's.
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
