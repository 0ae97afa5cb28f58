package trainer

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/regular"
)

// samplesFile holds one line of JSON for each sample that was made while the run trained.
const samplesFile = "samples.jsonl"

// Sample is a line of samples.jsonl: what the model wrote after a step.
type Sample struct {
	Step   int    `json:"step"`
	Tokens int64  `json:"tokens"` // seen so far
	Text   string `json:"text"`   // the prompt and what the model adds
}

// samplesLog appends to samples.jsonl.
type samplesLog struct {
	t      *Trainer
	file   io.Writer
	newest Sample // Step 0: none
}

// Sample has the model write the text that the config's section sample describes, and calls each
// with its pieces. The same weights give the same text.
func (t *Trainer) Sample(ctx context.Context, each func(piece string) error) (generate.Result, error) {
	c := t.run
	o := generate.Options{Threads: c.Device.Threads, Device: c.Device.Place(), Precision: graph.Precision(c.Device.Precision)}
	store, err := t.store.Merged()
	if err != nil {
		return generate.Result{}, err
	}
	g, err := generate.New(store, c.Spec(), t.corpus.Tokenizer, o)
	if err != nil {
		return generate.Result{}, err
	}
	defer g.Close()
	request := generate.Request{Prompt: c.Sample.Prompt, Slide: true, Echo: true, Tokens: c.Sample.Tokens, Temperature: c.Sample.Temperature, Seed: c.Seed}
	return g.Generate(ctx, request, func(p generate.Piece) error { return each(p.Text) })
}

// openSamples opens samples.jsonl to append, if the config asks for samples. It first copies the
// samples up to this step, as openMetrics does.
func openSamples(t *Trainer) (l *samplesLog, err error) {
	l = &samplesLog{t: t}
	if t.run.Sample.Every == 0 {
		return l, nil
	}
	var before []Sample
	if dir := t.folder.before; dir != "" {
		if before, err = ReadSamples(dir); err != nil {
			return nil, err
		}
	}
	l.file, err = t.folder.append(samplesFile, func(w io.Writer) error {
		lines := json.NewEncoder(w)
		for _, s := range before {
			if s.Step > t.step() {
				break
			}
			l.newest = s
			if err := lines.Encode(s); err != nil {
				return errors.WithStack(err)
			}
		}
		return nil
	})
	return l, err
}

// Step adds a sample to samples.jsonl, if one is due after the newest step and not made yet.
func (l *samplesLog) Step(ctx context.Context, _ *Metrics) error {
	t, c, step := l.t, l.t.run.Sample, l.t.step()
	if c.Every == 0 || c.Tokens == 0 || step <= l.newest.Step || step%c.Every != 0 && !t.ended() || t.givesUp() {
		return nil
	}
	var text strings.Builder
	if _, err := t.Sample(ctx, func(piece string) error { text.WriteString(piece); return nil }); err != nil {
		return errors.Wrap(err, "sample")
	}
	s := Sample{step, int64(step) * int64(t.run.StepTokens()), text.String()}
	if err := json.NewEncoder(l.file).Encode(s); err != nil {
		return errors.WithStack(err)
	}
	l.newest = s
	t.report.Note(fmt.Sprintf("step %d  sample: %.80s", s.Step, strings.Join(strings.Fields(s.Text), " ")))
	return nil
}

// ReadSamples reads the samples of a run folder, in the order of steps. It stops at a torn line; a
// folder without samples has none.
func ReadSamples(dir string) (all []Sample, err error) {
	path := filepath.Join(dir, samplesFile)
	f, _, err := regular.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, errors.Wrap(err, "samples")
	}
	defer f.Close()
	for lines := json.NewDecoder(bufio.NewReader(f)); ; {
		var s Sample
		if lines.Decode(&s) != nil || len(all) > 0 && s.Step <= all[len(all)-1].Step {
			return all, nil
		}
		all = append(all, s)
	}
}
