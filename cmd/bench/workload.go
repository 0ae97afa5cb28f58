package main

import (
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/models"
)

// workload is a model and the batch that it is trained on.
type workload struct {
	Name   string
	Preset models.Preset // that it is of
	Spec   models.Spec
	Batch  int
	ZLoss  float64 // coefficient
}

// tokens is how many a step trains on.
func (w workload) tokens() int { return w.Batch * w.Spec.Seq }

// stepFLOPs are the matrix products of a step, forward and backward.
func (w workload) stepFLOPs() float64 {
	return float64(w.tokens()) * float64(w.Spec.Cost().TrainFLOPs())
}

// zLoss is the z-loss coefficient of every workload but those of stock Gorgonia.
const zLoss = 1e-4

// measured is a model of the table.
type measured struct {
	name, preset string
	batch, seq   int
}

// measuredModels are the models that the project's speed is measured on, each RMT before the
// transformer of its size: the paper's two smaller sizes and a byte-level one.
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

// newWorkload is a preset with learned positions of seq tokens, logits over (l+1) and z-loss.
func newWorkload(name string, p models.Preset, batch, seq int) (workload, error) {
	c := p.Config
	c.Seq, c.Attention.Positions, c.Attention.InverseLayerScaling = seq, models.PositionsLearned, true
	spec, err := c.Resolve()
	return workload{Name: name, Preset: p, Spec: spec, Batch: batch, ZLoss: zLoss}, errors.WithMessage(err, name)
}

// workload is a measured model's.
func (m measured) workload(zoo models.Zoo) (workload, error) {
	p, err := zoo.Preset(m.preset)
	if err != nil {
		return workload{}, err
	}
	return newWorkload(m.name, p, m.batch, m.seq)
}

// resized is a workload with rows of another number and length; 0 leaves them as they are.
func (w workload) resized(batch, seq int) (workload, error) {
	if batch == 0 {
		batch = w.Batch
	}
	if seq == 0 {
		seq = w.Spec.Seq
	}
	resized, err := newWorkload(w.Name, w.Preset, batch, seq)
	resized.ZLoss = w.ZLoss
	return resized, err
}

// plain is the name of the plain transformer's preset that a workload is compared with, its own
// for the transformer.
func (w workload) plain() string {
	if w.Preset.Plain == "" {
		return w.Preset.Name
	}
	return w.Preset.Plain
}

func names(list []workload) []string {
	return namesOf(list, func(w workload) string { return w.Name })
}

// presetRows are the rows of a step of a preset that is not among the measured models.
const presetRows = 4

// choose returns the workloads of a comma-separated list of names, the measured models for "".
// Another preset gets 4 rows of its own length.
func choose(zoo models.Zoo, list string) ([]workload, error) {
	known := measuredModels()
	if list == "" {
		list = strings.Join(namesOf(known, measuredName), ",")
	}
	for _, p := range zoo.Presets() {
		if !slices.Contains(namesOf(known, measuredName), p.Name) {
			known = append(known, measured{p.Name, p.Name, presetRows, p.Config.Seq})
		}
	}
	var chosen []workload
	for _, name := range strings.Split(list, ",") {
		i := slices.IndexFunc(known, func(m measured) bool { return m.name == name })
		if i < 0 {
			return nil, unknownName("-models", "model", name, namesOf(known, measuredName))
		}
		w, err := known[i].workload(zoo)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(names(chosen), name) {
			chosen = append(chosen, w)
		}
	}
	return chosen, nil
}

func measuredName(m measured) string { return m.name }
