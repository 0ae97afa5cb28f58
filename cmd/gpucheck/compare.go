package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/pkg/errors"
)

// step is what a line of a run's metrics.jsonl says of a training step; nil: not finite.
type step struct {
	Step     int      `json:"step"`
	Loss     *float64 `json:"loss"`
	GradNorm *float64 `json:"grad_norm"`
}

// readSteps reads a run folder's steps.
func readSteps(run string) ([]step, error) {
	file, err := os.Open(filepath.Join(run, "metrics.jsonl"))
	if err != nil {
		return nil, errors.WithStack(err)
	}
	defer func() { _ = file.Close() }()
	var steps []step
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var s step
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return nil, errors.Wrapf(err, "%s, line %d", file.Name(), len(steps)+1)
		}
		if s.Loss == nil || s.GradNorm == nil {
			return nil, errors.Errorf("%s, step %d: want a finite loss and gradient norm, got %s", file.Name(), s.Step, lines.Text())
		}
		steps = append(steps, s)
	}
	if len(steps) == 0 {
		return nil, errors.Errorf("%s: want steps, got none", file.Name())
	}
	return steps, errors.WithStack(lines.Err())
}

// comparison is two runs of the same steps.
type comparison struct {
	name      string
	want, got []step
	tolerance float64
}

// worst returns the largest |got - want| / |want| of the losses and where it is, and that
// of the gradient norms.
func (c comparison) worst() (loss float64, at int, norm float64) {
	at = c.want[0].Step
	for i, w := range c.want {
		if d := relative(*w.Loss, *c.got[i].Loss); d > loss {
			loss, at = d, w.Step
		}
		norm = max(norm, relative(*w.GradNorm, *c.got[i].GradNorm))
	}
	return loss, at, norm
}

func relative(want, got float64) float64 {
	if want == got {
		return 0
	}
	return math.Abs(got-want) / math.Abs(want)
}

// compare checks that two runs have the same losses, up to the tolerance; with tolerance 0
// losses and gradient norms must have the same bits.
func (c *call) compare(out io.Writer) error {
	both := comparison{name: c.name, tolerance: c.tolerance}
	var err error
	if both.want, err = readSteps(c.arguments[0]); err != nil {
		return err
	}
	if both.got, err = readSteps(c.arguments[1]); err != nil {
		return err
	}
	if len(both.want) != len(both.got) {
		return errors.Errorf("%s: want the %d steps of %s, got %d in %s", c.name, len(both.want), c.arguments[0], len(both.got), c.arguments[1])
	}
	return both.print(out)
}

// shownSteps is how many steps a table has, about.
const shownSteps = 10

// print writes a figure and, unless the runs are the same, a table for the report.
func (c comparison) print(out io.Writer) error {
	loss, at, norm := c.worst()
	first, last := c.want[0], c.want[len(c.want)-1]
	text := fmt.Sprintf("figure: %s: loss %.4f to %.4f in %d steps, ", c.name, *first.Loss, *last.Loss, len(c.want))
	if loss == 0 && norm == 0 {
		text += "every loss and gradient norm has the same bits\n"
	} else {
		text += fmt.Sprintf("the other %.4f to %.4f; largest relative difference %.1e, at step %d (wanted <= %.0e), of gradient norms %.1e\n%s",
			*c.got[0].Loss, *c.got[len(c.got)-1].Loss, loss, at, c.tolerance, norm, c.table())
	}
	if _, err := io.WriteString(out, text); err != nil {
		return errors.WithStack(err)
	}
	if loss > c.tolerance || c.tolerance == 0 && norm > 0 {
		return errors.Errorf("%s: want losses within %.0e, got a relative difference of %.1e at step %d, of gradient norms %.1e", c.name, c.tolerance, loss, at, norm)
	}
	return nil
}

// table lists some of the steps.
func (c comparison) table() string {
	text := fmt.Sprintf("%s\n%s\n%6s  %12s  %12s  %8s\n", fence, c.name, "step", "loss", "the other", "relative")
	for i, w := range c.want {
		if i%max(1, len(c.want)/shownSteps) == 0 || i == len(c.want)-1 {
			text += fmt.Sprintf("%6d  %12.6f  %12.6f  %8.1e\n", w.Step, *w.Loss, *c.got[i].Loss, relative(*w.Loss, *c.got[i].Loss))
		}
	}
	return text + fence + "\n"
}
