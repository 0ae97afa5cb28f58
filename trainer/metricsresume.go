package trainer

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/regular"
)

// openMetrics opens metrics.jsonl to append. It first copies the lines of the earlier steps.
// The current step's line comes from the checkpoint; if validation still has to score the step, the
// line is written after that instead.
func (t *Trainer) openMetrics() error {
	dir := t.folder.before
	if t.last.Step != t.step() && dir != "" && t.step() > 0 { // a checkpoint of an earlier program
		lines, err := readMetrics(filepath.Join(dir, metricsFile), t.step())
		if err != nil {
			return err
		}
		if n := len(lines); n > 0 && lines[n-1].Step == t.step() {
			t.last = lines[n-1]
		}
	}
	upTo := t.step()
	if t.last.Step == t.step() {
		upTo--
	}
	var err error
	if t.metrics, err = t.takeOver(dir, max(0, upTo)); err != nil {
		return err
	}
	t.before = t.metrics.last.Seconds
	if t.last.Step == t.step() && t.step() > 0 {
		t.before = t.last.Seconds
		if !t.unvalidated() {
			_, err := t.metrics.add(&t.last)
			return err
		}
	}
	return nil
}

// takeOver rewrites the lines of the steps up to upTo and opens the file to append.
func (t *Trainer) takeOver(dir string, upTo int) (*metricsLog, error) {
	l := newMetricsLog(t.run.Spec().Vocab, t.run.TotalSteps())
	var err error
	l.file, err = t.folder.append(metricsFile, func(w io.Writer) error {
		if dir == "" {
			return nil
		}
		source := filepath.Join(dir, metricsFile)
		damage, err := scanLines(source, func(raw []byte, m Metrics) error {
			if m.Step > upTo {
				return errEnough
			}
			l.count(&m)
			_, err := w.Write(raw)
			return errors.WithStack(err)
		})
		if err == nil && damage > 0 {
			err = t.setAside(source, damage)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if missing := upTo - l.lines; missing > 0 {
		t.report.Warn(fmt.Sprintf("%s has no line for %d of the %d steps so far: it was cut, edited or damaged; training goes on as it would, loss.svg lacks them",
			filepath.Join(t.run.Out, metricsFile), missing, upTo))
	}
	return l, nil
}

// setAside copies a damaged metrics.jsonl to another name, because the run goes on without the
// lines that cannot be read.
func (t *Trainer) setAside(source string, damage int) error {
	sum, err := contentName(source)
	if err != nil {
		return err
	}
	aside := filepath.Join(t.run.Out, "metrics.damaged-"+sum+".jsonl")
	err = t.folder.WriteFileAtomic(aside, func(w io.Writer) error { return copyFile(w, source) })
	if err != nil {
		return err
	}
	lines := "1 line cannot be read, or is out of order, and is left out"
	if damage > 1 {
		lines = fmt.Sprintf("%d lines cannot be read, or are out of order, and are left out", damage)
	}
	t.report.Warn(fmt.Sprintf("%s: %s; the file as it was is kept as %s", source, lines, aside))
	return nil
}

// copyFile copies the content of the file at path to w.
func copyFile(w io.Writer, path string) error {
	f, _, err := regular.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return errors.Wrap(err, path)
}

// contentName returns a short hash of a file's content, for use in a name.
func contentName(path string) (string, error) {
	sum := sha256.New()
	err := copyFile(sum, path)
	return hex.EncodeToString(sum.Sum(nil)[:4]), err
}
