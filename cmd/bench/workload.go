package main

import (
	"slices"
	"strings"

	"github.com/residua-go/residua/models"
)

// workload is a model and the batch that it is trained on.
type workload struct {
	Name   string        `json:"name"`
	Config models.Config `json:"config"`
	Batch  int           `json:"batch"`
}

// tokens is how many a step trains on.
func (w workload) tokens() int { return w.Batch * w.Config.Seq }

// stepFLOPs are the matrix products of a step, forward and backward.
func (w workload) stepFLOPs() float64 {
	return float64(w.tokens()) * float64(w.Config.Cost().TrainFLOPs())
}

// zLoss is the z-loss coefficient of every workload.
const zLoss = 1e-4

// workloads are the models that the project's speed is measured on, each RMT before the
// transformer of its size: the paper's two smaller sizes and a byte-level one.
func workloads() []workload {
	byteRMT := models.Config{Stream: models.StreamMatrix, Layers: 4, Dk: 32, Dv: 32, Rank: 8, FF: 1024, Vocab: byteVocab}
	byteTransformer := models.Config{Stream: models.StreamVector, Layers: 4, DModel: 256, Heads: 8, FF: 1024, Vocab: byteVocab}
	return []workload{
		newWorkload("rmt-46m", preset("rmt-46m"), 8, 256),
		newWorkload("transformer-49m", preset("transformer-49m"), 8, 256),
		newWorkload("byte-rmt", byteRMT, 16, 256),
		newWorkload("byte-transformer", byteTransformer, 16, 256),
		newWorkload("rmt-134m", preset("rmt-134m"), 4, 512),
		newWorkload("transformer-162m", preset("transformer-162m"), 4, 512),
	}
}

// byteVocab is 256 bytes and BOS.
const byteVocab = 257

func preset(name string) models.Config { return models.Config{Preset: name}.Resolve() }

// newWorkload completes a config: learned positions of seq tokens, logits over (l+1), z-loss.
func newWorkload(name string, c models.Config, batch, seq int) workload {
	c.Seq, c.Positions, c.InverseLayerScaling, c.ZLoss = seq, models.PositionsLearned, true, zLoss
	return workload{name, c.Resolve(), batch}
}

// sizePair is an RMT and the transformer it is compared with.
type sizePair struct{ RMT, Transformer string }

// sizePairs lists the three sizes.
func sizePairs() []sizePair {
	return []sizePair{{"rmt-46m", "transformer-49m"}, {"byte-rmt", "byte-transformer"}, {"rmt-134m", "transformer-162m"}}
}

// partner is the other model of a model's size, "" if there is none.
func partner(name string) string {
	for _, pair := range sizePairs() {
		switch name {
		case pair.RMT:
			return pair.Transformer
		case pair.Transformer:
			return pair.RMT
		}
	}
	return ""
}

// find returns the workload of a name.
func find(list []workload, name string) (workload, bool) {
	i := slices.IndexFunc(list, func(w workload) bool { return w.Name == name })
	if i < 0 {
		return workload{}, false
	}
	return list[i], true
}

func names(list []workload) []string {
	var names []string
	for _, w := range list {
		names = append(names, w.Name)
	}
	return names
}

// choose returns the workloads of a comma-separated list of names, all of them for "".
// A preset without a workload of its own gets 4 rows of its own length.
func choose(list string) ([]workload, error) {
	known := workloads()
	if list == "" {
		return known, nil
	}
	for _, p := range models.Presets() {
		if _, ok := find(known, p.Name); !ok {
			known = append(known, newWorkload(p.Name, p.Config, 4, p.Config.Seq))
		}
	}
	var chosen []workload
	for _, name := range strings.Split(list, ",") {
		w, ok := find(known, name)
		if !ok {
			return nil, unknownName("-models", "model", name, names(known))
		}
		if _, twice := find(chosen, name); !twice {
			chosen = append(chosen, w)
		}
	}
	return chosen, nil
}
