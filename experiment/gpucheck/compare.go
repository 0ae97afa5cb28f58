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

// readSteps reads the steps of a run's folder. A loss or gradient norm that is not finite is
// an error.
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

// Comparison compares two training runs with the same steps.
type Comparison struct {
	Name      string  // title in the report
	Want, Got string  // folders of the runs
	Tolerance float64 // relative tolerance of losses; 0: losses and gradient norms must have the same bits
	Gradients float64 // tolerance of each parameter's gradient, relative to its norm; Want then has the gradients that SaveStep wrote; 0: not compared
}

// Write writes the comparison for the report. It returns an error if the losses differ by more than
// the tolerance.
func (c Comparison) Write(out io.Writer) error {
	for _, compared := range []func() (string, error){c.losses, c.gradients} {
		text, err := compared()
		if _, failed := io.WriteString(out, text); failed != nil {
			return errors.WithStack(failed)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// shownSteps is about how many steps a table has.
const shownSteps = 10

// losses compares losses and gradient norms in a figure and, unless they are equal, in a table of
// some steps.
func (c Comparison) losses() (string, error) {
	want, err := readSteps(c.Want)
	if err != nil {
		return "", err
	}
	got, err := readSteps(c.Got)
	if err != nil {
		return "", err
	}
	last := len(want) - 1
	if len(got) != len(want) {
		return "", errors.Errorf("%s: want the %d steps of %s, got %d in %s", c.Name, len(want), c.Want, len(got), c.Got)
	}
	loss, norm, at := 0.0, 0.0, want[0].Step // largest differences
	table := fmt.Sprintf("%s\n%s\n%6s  %12s  %12s  %8s\n", fence, c.Name, "step", "loss", "the other", "relative")
	for i, w := range want {
		d := relative(w.Loss, got[i].Loss)
		if d > loss {
			loss, at = d, w.Step
		}
		norm = max(norm, relative(w.GradNorm, got[i].GradNorm))
		if i%max(1, len(want)/shownSteps) == 0 || i == last {
			table += fmt.Sprintf("%6d  %12.6f  %12.6f  %8.1e\n", w.Step, w.Loss, got[i].Loss, d)
		}
	}
	text := fmt.Sprintf("figure: %s: loss %.4f to %.4f in %d steps, ", c.Name, want[0].Loss, want[last].Loss, len(want))
	if loss == 0 && norm == 0 {
		return text + "every loss and gradient norm has the same bits\n", nil
	}
	text += fmt.Sprintf("the other %.4f to %.4f; largest relative difference %.1e, at step %d (wanted <= %.0e), of gradient norms %.1e\n%s",
		got[0].Loss, got[last].Loss, loss, at, c.Tolerance, norm, table+fence+"\n")
	if loss > c.Tolerance || c.Tolerance == 0 {
		err = errors.Errorf("%s: want losses within %.0e, got a relative difference of %.1e at step %d, of gradient norms %.1e", c.Name, c.Tolerance, loss, at, norm)
	}
	return text, err
}

func relative(want, got eval.Number) float64 {
	if want == got {
		return 0
	}
	return math.Abs(float64(got-want)) / math.Abs(float64(want))
}

// gradients compares the gradients in a figure, if asked to.
func (c Comparison) gradients() (string, error) {
	if c.Gradients == 0 {
		return "", nil
	}
	text, err := os.ReadFile(filepath.Join(c.Want, savedGradients))
	if err != nil {
		return "", errors.WithStack(err)
	}
	var want map[string]gradient
	if err := json.Unmarshal(text, &want); err != nil {
		return "", errors.Wrap(err, filepath.Join(c.Want, savedGradients))
	}
	got, err := runGradients(c.Got)
	if err != nil {
		return "", err
	}
	worst, of, err := worstGradient(want, got)
	if err != nil {
		return "", errors.Wrap(err, c.Name)
	}
	if !(worst <= c.Gradients) {
		err = errors.Errorf("%s: want gradients within %.0e of their norms, got a difference of %.1e of %s", c.Name, c.Gradients, worst, of)
	}
	return fmt.Sprintf("figure: %s: gradients of %d parameters, largest difference %.1e of the norm, of %s (wanted <= %.0e)\n", c.Name, len(want), worst, of,
		c.Gradients), err
}
