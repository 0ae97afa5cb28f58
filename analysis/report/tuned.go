package report

import (
	"context"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/models/check"
)

// Tuned says whether to look through a tuned lens, too.
type Tuned struct {
	Train bool     `yaml:"tuned" help:"train a tuned lens, too, and look through it"`
	File  string   `yaml:"tuned_file" local:"true" help:"look through the tuned lens of <FILE>, tuned-lens.safetensors of an -out folder, too"`
	Data  []string `yaml:"data" local:"true" help:"train -tuned on text <FILE> or a folder of token shards; may be repeated; without, the run's validation text"`
	// 0: 8192
	Tokens int `yaml:"tuned_tokens" default:"8192" min:"2" max:"1000000" help:"train -tuned on at most <N> tokens, of which it keeps a fifth to be measured on"`
	Steps  int `yaml:"tuned_steps" default:"200" min:"1" max:"1000000" help:"train -tuned for <N> steps of 512 tokens"` // 0: 200
}

// add adds what the tuned lens shows, and how near it is to the model's own distribution.
func (o Tuned) add(ctx context.Context, r *Report, m *Model, d *analysis.Decomposition, a aim, ids []int32) error {
	lens, err := o.lens(ctx, r, m)
	if err != nil || lens == nil {
		return err
	}
	d = d.Tuned(lens)
	r.part("tuned", "Tuned lens, at one token", "What the tuned lens reads after each writer: an affine map for each, trained to say what the "+
		"model says at its end.")(
		m.lens(d, a, "tuned lens"))
	r.part("tuned-map", "Tuned lens, at every token", "The probability of each token's true successor, read out after each writer through the tuned lens.")(
		d.LensMap()).LabelTokens(m, ids)
	return r.err
}

// lens reads the tuned lens, or trains it and adds how near it is to the model's own distribution;
// nil: none is wanted.
func (o Tuned) lens(ctx context.Context, r *Report, m *Model) (*analysis.TunedLens, error) {
	switch {
	case o.Train && o.File != "":
		return nil, check.Value("tuned-file", "a lens that is trained (-tuned), or a file", "both")
	case !o.Train && len(o.Data) > 0:
		return nil, check.Value("data", "-tuned with it", "none: only a tuned lens is trained on text")
	case o.File != "":
		return readTuned(o.File, m)
	case !o.Train:
		return nil, nil
	case m.Text == nil:
		return nil, check.Value("data", "a model with a text", "one without")
	}
	ids, err := m.Text(ctx, o.Data, o.Tokens)
	if err != nil {
		return nil, err
	}
	lens, fit, err := analysis.TuneLens(ctx, m.Store, m.Spec, ids, o.Steps)
	if err != nil {
		return nil, err
	}
	r.Add("tuned-fit", "How near the lenses are to the end", "The divergence of what a lens reads from what the model says at its end, on text that the "+
		"tuned lens was not trained on.", fit)
	r.files = append(r.files, file{TunedFile, func(path string) error { return writeTuned(path, lens) }})
	return lens, nil
}

// TunedFile is a tuned lens in a report's folder: a safetensors file of float32, WRITER.weight [F,
// F] and WRITER.bias [F] for each map z = x weight + bias; the writers, in order, are in the
// metadata ("after").
const TunedFile = "tuned-lens.safetensors"

// tunedFormat is the value of "format" in the file's metadata.
const tunedFormat = "residua tuned lens"

// writeTuned replaces the file, whole or not at all.
func writeTuned(path string, l *analysis.TunedLens) error {
	var tensors []checkpoint.Tensor
	var after []string
	for _, t := range l.Maps {
		after = append(after, t.After)
		tensors = append(tensors,
			checkpoint.Tensor{Name: t.After + ".weight", Shape: []int{len(t.Bias), len(t.Bias)}, Data: float32s(t.Weight)},
			checkpoint.Tensor{Name: t.After + ".bias", Shape: []int{len(t.Bias)}, Data: float32s(t.Bias)})
	}
	return checkpoint.WriteTensors(path, tensors, map[string]string{"format": tunedFormat, "after": strings.Join(after, " ")})
}

func float32s(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

// readTuned reads a lens that writeTuned wrote. It returns an error if the file is not a lens for a
// model with m's number of features.
func readTuned(path string, m *Model) (*analysis.TunedLens, error) {
	file, err := checkpoint.ReadTensors(path)
	if err != nil {
		return nil, errors.WithMessage(err, "tuned-file")
	}
	if file.Metadata["format"] != tunedFormat {
		return nil, errors.Errorf("tuned-file: want %s, as lens -tuned writes it, got %s", TunedFile, path)
	}
	l := analysis.IdentityLens(strings.Fields(file.Metadata["after"]), m.Spec.Features())
	for _, t := range l.Maps {
		for suffix, to := range map[string][]float64{".weight": t.Weight, ".bias": t.Bias} {
			stored, err := file.Tensor(t.After + suffix)
			if err != nil {
				return nil, errors.WithMessage(err, "tuned-file: "+path)
			}
			data, ok := stored.Data.([]float32)
			if !ok || len(data) != len(to) {
				return nil, errors.Errorf("tuned-file: %s: %s: want %d float32, of a model of %d features, got %v %s", path, stored.Name, len(to), m.Spec.Features(),
					stored.Shape, stored.DType())
			}
			for i, v := range data {
				to[i] = float64(v)
			}
		}
	}
	return l, nil
}
