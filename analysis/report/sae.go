package report

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pkg/errors"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis/corpus"
	"github.com/residua-go/residua/analysis/sae"
	"github.com/residua-go/residua/models/check"
)

// SAE trains a sparse autoencoder or transcoder of activations. Its fields say of which, how, on
// what text.
type SAE struct {
	Texts             // by default 1,000 rows of validation text
	Activation string `yaml:"name" help:"read activation <NAME>; without, the stream after the middle block"`
	To         string `yaml:"to" help:"of transcoders: compute activation <NAME>"`
	Folder     string `yaml:"sae" local:"true" help:"keep it in folder <DIR>, in SAELens' layout; the same call goes on after an interrupt"`
	sae.Options
}

const (
	saeRows   = 1000 // read by default
	heldOut   = 10   // of that many rows one is not trained on
	stateFile = "training.safetensors"
)

// Name is sae.
func (SAE) Name() string { return "sae" }

// Card describes SAE.
func (SAE) Card() Card {
	return Card{
		Summary: "train a sparse autoencoder or transcoder of a model's activations",
		Example: `
			sae -checkpoint zoo:rmt -sae /tmp/sae
			sae -checkpoint zoo:transformer -architecture transcoder -name blocks.1.feedforward.norm.out -to blocks.1.feedforward.write -sae /tmp/transcoder
			analyze features -checkpoint zoo:rmt -sae /tmp/sae`,
		Notes: `
			Each tenth row is held out, and what is reported is measured on it. The folder has SAELens 6's
			cfg.json and sae_weights.safetensors, and ` + stateFile + `, from which an interrupted
			training goes on.`,
	}
}

// Run trains an SAE, or what is left of its training, and reports how well it does.
func (o SAE) Run(ctx context.Context, m *Model) (*Report, error) {
	if o.Folder == "" {
		return nil, check.Value("sae", "a folder", "none")
	}
	rows, note, err := o.Texts.orRows(ctx, m, saeRows)
	if err != nil {
		return nil, err
	}
	if len(rows) < heldOut {
		return nil, check.Valuef("rows", len(rows), "at least %d, of which one in %d is held out", heldOut, heldOut)
	}
	middle := strings.Replace(defaultNames(m)[0], "*", strconv.Itoa(m.Spec.Depth()/2), 1)
	c := sae.Config{Architecture: o.Architecture, Metadata: sae.Metadata{Model: m.Short, Name: cmp.Or(o.Activation, middle), To: o.To, Context: m.Spec.Seq}}
	if c.Transcodes() != (o.To != "") {
		return nil, check.Value("to", "an activation of a transcoder, and none of an autoencoder", strconv.Quote(o.To))
	}
	r, err := corpus.Open(m.Store, m.Spec, rows, c.Names()...)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var held []corpus.Row
	d := sae.Data{Digest: digest(m.Store, rows), Tokens: func(row int) int { return len(rows[row].IDs) }}
	for i, row := range rows {
		if i%heldOut == heldOut-1 {
			held = append(held, row)
		} else {
			d.Rows = append(d.Rows, i)
		}
	}
	in, out := -1, -1 // among the reader's activations
	for i, a := range r.Tokens {
		if a.Name == c.Metadata.Name {
			in, c.In = i, tensor.Shape(a.Shape).TotalSize()
		}
		if a.Name == c.Names()[len(c.Names())-1] {
			out, c.Out = i, tensor.Shape(a.Shape).TotalSize()
		}
	}
	d.Row = func(row int) (x, want []float64, err error) {
		all, err := r.Row(row)
		if err != nil {
			return nil, nil, err
		}
		return all[in].Values, all[out].Values, nil
	}
	if err := os.MkdirAll(o.Folder, 0o777); err != nil {
		return nil, errors.WithStack(err)
	}
	s, err := sae.Train(ctx, c, d, o.Options, filepath.Join(o.Folder, stateFile), m.done)
	if err != nil {
		return nil, err
	}
	if err := s.Save(o.Folder); err != nil {
		return nil, err
	}
	q, _, err := measure(ctx, m, s, held, func(corpus.Row, []float64) {})
	if err != nil {
		return nil, err
	}
	report := m.NewReport("Sparse autoencoder", nil)
	report.About += note
	report.Add("quality", "Quality", "On rows that it was not trained on.", q)
	return report, nil
}
