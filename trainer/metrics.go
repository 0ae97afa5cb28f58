package trainer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
)

// metricsFile is a line of JSON a step.
const metricsFile = "metrics.jsonl"

// Metrics are one step's line in metrics.jsonl. A number that is not finite is null.
type Metrics struct {
	Step     int     `json:"step"`   // updates done, this one included
	Tokens   int64   `json:"tokens"` // seen so far
	Loss     number  `json:"loss"`   // cross-entropy in nats a token, without z-loss
	LR       float64 `json:"lr"`     // peak rate times the schedule
	GradNorm number  `json:"grad_norm"`
	TokensPS float64 `json:"tokens_per_s"`
	FLOPsPS  float64 `json:"flops_per_s"`       // achieved, of the model's own matrix products
	Seconds  float64 `json:"seconds"`           // since the run's start, resumed parts included
	Skipped  bool    `json:"skipped,omitempty"` // not finite: no update was made
	Experts  [][]int `json:"experts,omitempty"` // tokens that each block's experts got
	ValLoss  *number `json:"val_loss,omitempty"`
	ValBits  *number `json:"val_bits_per_byte,omitempty"`
}

// number is a float64 that JSON can always write.
type number float64

// MarshalJSON writes a number with every bit, or null.
func (n number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON reads null as NaN.
func (n *number) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*n = number(math.NaN())
		return nil
	}
	return json.Unmarshal(text, (*float64)(n))
}

// metricsLog appends to metrics.jsonl and keeps all lines for the plot.
type metricsLog struct {
	file  *os.File
	lines []Metrics
}

// openMetrics opens the log of a run folder for the steps after step: later lines and a
// torn last line are cut off.
func openMetrics(dir string, step int) (*metricsLog, error) {
	path := filepath.Join(dir, metricsFile)
	lines, err := readMetrics(path, step)
	if err != nil {
		return nil, err
	}
	err = checkpoint.WriteFileAtomic(path, func(w io.Writer) error {
		for _, m := range lines {
			if err := writeLine(w, m); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o644)
	return &metricsLog{file, lines}, errors.WithStack(err)
}

// readMetrics returns the whole lines of the steps up to step.
func readMetrics(path string, step int) ([]Metrics, error) {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, errors.WithStack(err)
	}
	var lines []Metrics
	for scan := bufio.NewScanner(bytes.NewReader(text)); scan.Scan(); {
		var m Metrics
		if json.Unmarshal(scan.Bytes(), &m) != nil || m.Step > step {
			break
		}
		lines = append(lines, m)
	}
	return lines, nil
}

func writeLine(w io.Writer, m Metrics) error {
	line, err := json.Marshal(m)
	if err != nil {
		return errors.WithStack(err)
	}
	_, err = w.Write(append(line, '\n'))
	return errors.WithStack(err)
}

// add appends a step.
func (l *metricsLog) add(m Metrics) error {
	l.lines = append(l.lines, m)
	return writeLine(l.file, m)
}

// sync puts the lines on disk, before a checkpoint that counts on them.
func (l *metricsLog) sync() error { return errors.WithStack(l.file.Sync()) }

func (l *metricsLog) close() error { return errors.WithStack(l.file.Close()) }
