package bench

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/spelling"
	"github.com/residua-go/residua/models"
)

// Workload is a model and the batch that it is trained on, or the text that it generates.
type Workload struct {
	Name   string
	Preset models.Preset // the preset that it comes from
	Spec   models.Spec
	Batch  int
	ZLoss  float64 // coefficient
	Optim  string  // of OptimizerNames; "" is the first, AdamW
	Text   Text
}

// tokens returns the number of tokens in a step.
func (w Workload) tokens() int { return w.Batch * w.Spec.Seq }

// stepFLOPs counts the matrix products of a step, forward and backward.
func (w Workload) stepFLOPs() float64 {
	return float64(w.tokens()) * float64(w.Spec.Cost().TrainFLOPs())
}

// plain returns the name of the plain transformer's preset with which a workload is compared.
// For the transformer itself it returns its own.
func (w Workload) plain() string {
	if w.Preset.Baseline == "" {
		return w.Preset.Name
	}
	return w.Preset.Baseline
}

// byteVocab is the size of a vocabulary of 256 bytes and BOS.
const byteVocab = 257

// zLoss is the z-loss coefficient of all workloads.
const zLoss = 1e-4

// newWorkload makes a workload from a preset, with rows of seq tokens and z-loss. Unless its
// positions are rotary, the model gets learned positions, and the attention logits of block l
// are divided by l+1.
func newWorkload(name string, p models.Preset, batch, seq int) (Workload, error) {
	c := p.Config
	if c.Seq = seq; c.Attention.Positions != models.PositionsRoPE {
		c.Attention.Positions, c.Attention.InverseLayerScaling = models.PositionsLearned, true
	}
	spec, err := c.Resolve()
	return Workload{Name: name, Preset: p, Spec: spec, Batch: batch, ZLoss: zLoss}, errors.WithMessage(err, name)
}

// measured is a model in the list of measured models.
type measured struct {
	name, preset string
	batch, seq   int
}

// measuredModels lists the models on which this project's speed is measured: the two smaller
// sizes of the RMT paper and a byte-level one, each with the RMT before its transformer.
func measuredModels() []measured {
	return []measured{
		{"rmt-46m", "rmt-46m", 8, 256},
		{"transformer-49m", "transformer-49m", 8, 256},
		{"byte-rmt", "quickstart", 16, 256},
		{"byte-transformer", "quickstart-transformer", 16, 256},
		{"rmt-134m", "rmt-134m", 4, 512},
		{"transformer-162m", "transformer-162m", 4, 512},
	}
}

// ModelNames returns the models that are measured if none is named.
func ModelNames() []string { return namesOf(measuredModels(), measuredName) }

// presetRows is the number of rows in a step for a preset that is not among the measured models.
const presetRows = 4

// Size changes the number and length of workloads' rows.
type Size struct {
	Batch int `yaml:"batch" min:"0" max:"1048576" help:"train on <N> rows a step; 0: each model's own number"`
	Seq   int `yaml:"seq" min:"0" max:"1048576" help:"train on rows of <N> tokens; 0: each model's own length"`
}

// or returns the size, with missing numbers replaced by batch and seq.
func (s Size) or(batch, seq int) (int, int) {
	if s.Batch != 0 {
		batch = s.Batch
	}
	if s.Seq != 0 {
		seq = s.Seq
	}
	return batch, seq
}

// Choose returns the workloads with these names, the measured models for none. Another preset gets
// 4 rows of its own length.
func Choose(zoo models.Zoo, names []string, size Size) ([]Workload, error) {
	known := measuredModels()
	if len(names) == 0 {
		names = ModelNames()
	}
	for _, p := range zoo.Presets() {
		if !slices.Contains(ModelNames(), p.Name) {
			known = append(known, measured{p.Name, p.Name, presetRows, p.Config.Seq})
		}
	}
	var chosen []Workload
	for i, name := range names {
		at := slices.IndexFunc(known, func(m measured) bool { return m.name == name })
		if at < 0 {
			return nil, unknownName("model", name, namesOf(known, measuredName))
		}
		if slices.Contains(names[:i], name) {
			continue
		}
		p, err := zoo.Preset(known[at].preset)
		if err != nil {
			return nil, err
		}
		batch, seq := size.or(known[at].batch, known[at].seq)
		w, err := newWorkload(name, p, batch, seq)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, w)
	}
	return chosen, nil
}

func measuredName(m measured) string { return m.name }

// checkNames returns an error for names that are not among those known.
func checkNames(what string, names, known []string) error {
	for _, n := range names {
		if !slices.Contains(known, n) {
			return unknownName(what, n, known)
		}
	}
	return nil
}

// unknownName returns the error for a name that is not among those known.
func unknownName(what, name string, known []string) error {
	return errors.Errorf("unknown %s %q%s", what, name, cmp.Or(spelling.Hint(name, known), "; want some of "+strings.Join(known, ", ")))
}

func namesOf[T any](known []T, name func(T) string) []string {
	var names []string
	for _, k := range known {
		names = append(names, name(k))
	}
	return names
}
