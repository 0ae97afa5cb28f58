package trainer

import (
	"context"
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
	w       *tfevents.Writer // nil: the config asks for no file
	start   time.Time        // when the run's first step would have begun, had the run never been interrupted
	samples *samplesLog
	step    int // the newest whose metrics are in the file
	sampled int // the newest whose sample is in the file
}

// openEvents rewrites the events file from the metrics and samples so far and opens it to
// append, if the config asks for it.
func openEvents(t *Trainer, samples *samplesLog) (*eventsLog, error) {
	l := &eventsLog{start: time.Now().Add(-seconds(t.before)), samples: samples}
	if !t.run.Train.TensorBoard {
		return l, nil
	}
	file, err := t.folder.append(eventsFile, func(w io.Writer) error { return l.begin(w, t.run.Out) })
	l.w = tfevents.Append(file)
	return l, err
}

// begin writes a new file with the steps and samples in a run's folder.
func (l *eventsLog) begin(w io.Writer, out string) (err error) {
	if l.w, err = tfevents.New(w, l.start); err != nil {
		return err
	}
	if _, err := scanLines(filepath.Join(out, metricsFile), func(_ []byte, m Metrics) error { return l.writeMetrics(m) }); err != nil {
		return err
	}
	samples, err := ReadSamples(out)
	if err != nil {
		return err
	}
	for _, s := range samples {
		if err := l.writeSample(s); err != nil {
			return err
		}
	}
	return nil
}

// Step writes the step's metrics and its sample, if there is one, unless they are in the file.
func (l *eventsLog) Step(_ context.Context, m *Metrics) error {
	if l.w == nil {
		return nil
	}
	if m.Step > l.step {
		if err := l.writeMetrics(*m); err != nil {
			return err
		}
	}
	if s := l.samples.newest; s.Step > l.sampled {
		return l.writeSample(s)
	}
	return nil
}

func (l *eventsLog) writeMetrics(m Metrics) error {
	l.step = m.Step
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

// writeSample indents the text, because TensorBoard reads Markdown and then shows it unchanged.
func (l *eventsLog) writeSample(s Sample) error {
	l.sampled = s.Step
	return l.w.Text(time.Now(), s.Step, "sample", "    "+strings.ReplaceAll(s.Text, "\n", "\n    "))
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
