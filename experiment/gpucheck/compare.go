package gpucheck

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/trainer"
)

// readSteps reads a run folder's steps, whose losses and gradient norms are finite.
func readSteps(run string) ([]trainer.Metrics, error) {
	steps, err := trainer.ReadMetrics(run)
	if err == nil && len(steps) == 0 {
		err = errors.Errorf("%s: want steps in metrics.jsonl, got none", run)
	}
	for _, s := range steps {
		if !s.Loss.Finite() || !s.GradNorm.Finite() {
			return nil, errors.Errorf("%s, step %d: want a finite loss and gradient norm, got %v and %v", run, s.Step, s.Loss, s.GradNorm)
		}
	}
	return steps, err
}

// Comparison is of two training runs of the same steps.
type Comparison struct {
	Name      string  // for the report
	Want, Got string  // the runs' folders
	Tolerance float64 // of losses, relative; 0: losses and gradient norms have the same bits
	Gradients float64 // of each parameter's gradient next to those that SaveStep wrote into Want, relative to its norm; 0: not compared
}

// pair is the steps of a comparison's runs.
type pair struct {
	Comparison
	want, got []trainer.Metrics
}

// worst returns the largest |got - want| / |want| of the losses and where it is, and that
// of the gradient norms.
func (c pair) worst() (loss float64, at int, norm float64) {
	at = c.want[0].Step
	for i, w := range c.want {
		if d := relative(w.Loss, c.got[i].Loss); d > loss {
			loss, at = d, w.Step
		}
		norm = max(norm, relative(w.GradNorm, c.got[i].GradNorm))
	}
	return loss, at, norm
}

func relative(want, got eval.Number) float64 {
	if want == got {
		return 0
	}
	return math.Abs(float64(got-want)) / math.Abs(float64(want))
}

// Write writes how the runs differ, as the report wants it. It fails where their losses differ by
// more than the tolerance.
func (c Comparison) Write(out io.Writer) error {
	both := pair{Comparison: c}
	var err error
	if both.want, err = readSteps(c.Want); err != nil {
		return err
	}
	if both.got, err = readSteps(c.Got); err != nil {
		return err
	}
	if len(both.want) != len(both.got) {
		return errors.Errorf("%s: want the %d steps of %s, got %d in %s", c.Name, len(both.want), c.Want, len(both.got), c.Got)
	}
	if err := both.write(out); err != nil || c.Gradients == 0 {
		return err
	}
	return c.writeGradients(out)
}

// writeGradients writes a figure of the gradients.
func (c Comparison) writeGradients(out io.Writer) error {
	text, err := os.ReadFile(filepath.Join(c.Want, savedGradients))
	if err != nil {
		return errors.WithStack(err)
	}
	var want map[string]gradient
	if err := json.Unmarshal(text, &want); err != nil {
		return errors.Wrap(err, filepath.Join(c.Want, savedGradients))
	}
	got, err := runGradients(c.Got)
	if err != nil {
		return err
	}
	worst, of, err := worstGradient(want, got)
	if err != nil {
		return errors.Wrap(err, c.Name)
	}
	if _, err := fmt.Fprintf(out, "figure: %s: gradients of %d parameters, largest difference %.1e of the norm, of %s (wanted <= %.0e)\n", c.Name, len(want), worst, of, c.Gradients); err != nil {
		return errors.WithStack(err)
	}
	if !(worst <= c.Gradients) {
		return errors.Errorf("%s: want gradients within %.0e of their norms, got a difference of %.1e of %s", c.Name, c.Gradients, worst, of)
	}
	return nil
}

// shownSteps is how many steps a table has, about.
const shownSteps = 10

// write writes a figure and, unless the runs are the same, a table for the report.
func (c pair) write(out io.Writer) error {
	loss, at, norm := c.worst()
	first, last := c.want[0], c.want[len(c.want)-1]
	text := fmt.Sprintf("figure: %s: loss %.4f to %.4f in %d steps, ", c.Name, first.Loss, last.Loss, len(c.want))
	if loss == 0 && norm == 0 {
		text += "every loss and gradient norm has the same bits\n"
	} else {
		text += fmt.Sprintf("the other %.4f to %.4f; largest relative difference %.1e, at step %d (wanted <= %.0e), of gradient norms %.1e\n%s",
			c.got[0].Loss, c.got[len(c.got)-1].Loss, loss, at, c.Tolerance, norm, c.table())
	}
	if _, err := io.WriteString(out, text); err != nil {
		return errors.WithStack(err)
	}
	if loss > c.Tolerance || c.Tolerance == 0 && norm > 0 {
		return errors.Errorf("%s: want losses within %.0e, got a relative difference of %.1e at step %d, of gradient norms %.1e", c.Name, c.Tolerance, loss, at, norm)
	}
	return nil
}

// table lists some of the steps.
func (c pair) table() string {
	text := fmt.Sprintf("%s\n%s\n%6s  %12s  %12s  %8s\n", fence, c.Name, "step", "loss", "the other", "relative")
	for i, w := range c.want {
		if i%max(1, len(c.want)/shownSteps) == 0 || i == len(c.want)-1 {
			text += fmt.Sprintf("%6d  %12.6f  %12.6f  %8.1e\n", w.Step, w.Loss, c.got[i].Loss, relative(w.Loss, c.got[i].Loss))
		}
	}
	return text + fence + "\n"
}
