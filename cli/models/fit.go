package models

import (
	"fmt"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/models"
)

// mostRows is the largest batch that a run config may have.
const mostRows = 65536

// fitting is the largest batch that fits in memory, and the bytes that it takes; a batch of 0 means
// that not even one row fits.
type fitting struct {
	Batch int `json:"batch"`
	Total int `json:"total"`
}

// presetFit holds what fits for a preset.
type presetFit struct {
	Name      string  `json:"name"`
	Seq       int     `json:"seq"`
	Training  fitting `json:"training"`
	Inference fitting `json:"inference"` // computing the loss alone, without gradients and moments
	Decoding  fitting `json:"decoding"`  // sequences that are continued together, with their keys and values kept
}

// runFit carries out -memory -fit.
func (c *call) runFit(out commandline.Output, presets []models.Preset) error {
	if err := commandline.CheckDevice(c.Device, c.Precision); err != nil {
		return err
	}
	bytes := int(c.Fit * 1e9)
	return show(c, out, presets, func(p models.Preset, s models.Spec) (line presetFit, err error) {
		line = presetFit{Name: p.Name, Seq: s.Seq, Decoding: c.training.decoding(s, bytes)}
		if line.Training, err = c.training.largest(s, bytes, true); err == nil {
			line.Inference, err = c.training.largest(s, bytes, false)
		}
		return line, err
	}, fitTable)
}

// largest searches for the largest batch that takes at most the given bytes. It plans each batch as
// a run would. Memory grows almost linearly with the rows, so it next tries the batch at which the
// line through the last two results reaches the limit, and every fourth time the middle of the
// remaining interval.
func (t training) largest(s models.Spec, bytes int, trains bool) (fitting, error) {
	need := func(rows int) (fitting, error) {
		t.Batch = rows
		m, err := t.plan(s, trains)
		return fitting{rows, m.Total()}, err
	}
	low, high := fitting{}, fitting{Batch: mostRows + 1} // low fits; high does not, or exceeds the maximum
	last, rows := fitting{}, 1
	for tries := 1; high.Batch-low.Batch > 1; tries++ {
		now, err := need(rows)
		if err != nil {
			return fitting{}, err
		}
		if now.Total <= bytes {
			low = now
		} else {
			high = now
		}
		rows = 2 * now.Batch
		if slope := (now.Total - last.Total) / (now.Batch - last.Batch); last.Batch > 0 && slope > 0 {
			rows = now.Batch + (bytes-now.Total)/slope
		}
		if tries%4 == 0 {
			rows = (low.Batch + high.Batch) / 2
		}
		last, rows = now, max(low.Batch+1, min(rows, high.Batch-1))
	}
	return low, nil
}

// decoding returns how many sequences can be continued together: memory must hold the weights and,
// for each sequence, the keys and values of seq tokens, in bfloat16 with precision bf16, otherwise
// in float32.
func (t training) decoding(s models.Spec, bytes int) fitting {
	element := 4
	if t.Precision == graph.BF16 {
		element = 2
	}
	weights, row := element*s.Cost().Parameters, element*s.CacheEntries()*s.Seq
	if weights+row > bytes {
		return fitting{}
	}
	n := min(mostRows, (bytes-weights)/row)
	return fitting{n, weights + n*row}
}

func fitTable(lines []presetFit) string {
	t := figure.Table{Align: "lrrrrrrr"}
	t.Row("preset", "seq", "training: batch", "memory", "loss: batch", "memory", "decoding: batch", "memory")
	for _, l := range lines {
		t.Row(l.Name, fmt.Sprint(l.Seq), fmt.Sprint(l.Training.Batch), megabytes(l.Training.Total), fmt.Sprint(l.Inference.Batch), megabytes(l.Inference.Total),
			fmt.Sprint(l.Decoding.Batch), megabytes(l.Decoding.Total))
	}
	return t.Within(columns).Text() + fitLegend
}

const fitLegend = `
The largest batch of sequences of seq tokens, at most 65536, that a training step, or the loss alone without gradients
and moments, has room for, and the memory that it takes (MB: 1e6 bytes), each planned as a run would. 0: not even one
sequence. Decoding: sequences that are continued at a time, by the weights and their keys and values alone.
`
