package trainer

import (
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/residua-go/residua/internal/tfevents"
)

// eventsFile is the file that TensorBoard reads; its name has to contain tfevents.
const eventsFile = "events.out.tfevents.residua"

// eventsLog appends to the events file.
type eventsLog struct {
	w     *tfevents.Writer
	start time.Time // when the run's first step would have begun, had the run never been interrupted
}

// openEvents rewrites the events file from the metrics and samples so far and opens it to
// append, if the config asks for it.
func (t *Trainer) openEvents() error {
	if !t.run.Train.TensorBoard {
		return nil
	}
	steps, err := readMetrics(filepath.Join(t.run.Out, metricsFile), t.step())
	if err != nil {
		return err
	}
	samples, err := ReadSamples(t.run.Out)
	if err != nil {
		return err
	}
	l := &eventsLog{start: time.Now().Add(-seconds(t.before))}
	file, err := t.folder.append(eventsFile, func(w io.Writer) error { return l.begin(w, steps, samples) })
	if err != nil {
		return err
	}
	l.w = tfevents.Append(file)
	t.events = l
	return nil
}

// begin writes a new file with the steps and samples so far.
func (l *eventsLog) begin(w io.Writer, steps []Metrics, samples []Sample) (err error) {
	if l.w, err = tfevents.New(w, l.start); err != nil {
		return err
	}
	for _, m := range steps {
		if err := l.step(m); err != nil {
			return err
		}
	}
	for _, s := range samples {
		if err := l.sample(s); err != nil {
			return err
		}
	}
	return nil
}

// step writes a step's metrics; it does nothing if there is no events file.
func (l *eventsLog) step(m Metrics) error {
	if l == nil {
		return nil
	}
	values := []tfevents.Scalar{
		{Tag: "train/loss", Value: float64(m.Loss)}, {Tag: "train/learning_rate", Value: m.LR}, {Tag: "train/gradient_norm", Value: float64(m.GradNorm)},
		{Tag: "speed/tokens_per_second", Value: m.TokensPS}, {Tag: "speed/flops_per_second", Value: m.FLOPsPS}, {Tag: "train/tokens", Value: float64(m.Tokens)},
	}
	if m.ValLoss != nil {
		values = append(values, tfevents.Scalar{Tag: "validation/loss", Value: float64(*m.ValLoss)},
			tfevents.Scalar{Tag: "validation/bits_per_byte", Value: float64(*m.ValBits)})
	}
	if m.ValAccuracy != nil {
		values = append(values, tfevents.Scalar{Tag: "validation/accuracy", Value: float64(*m.ValAccuracy)})
	}
	return l.w.Scalars(l.start.Add(seconds(m.Seconds)), m.Step, values...)
}

// sample writes a sample; it does nothing if there is no events file. It indents the text,
// because TensorBoard reads Markdown and then shows it unchanged.
func (l *eventsLog) sample(s Sample) error {
	if l == nil {
		return nil
	}
	return l.w.Text(time.Now(), s.Step, "sample", "    "+strings.ReplaceAll(s.Text, "\n", "\n    "))
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
