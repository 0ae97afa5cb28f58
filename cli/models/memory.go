package models

import (
	"fmt"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/models"
)

// training describes the training step whose memory is asked for.
type training struct {
	Batch     int             `yaml:"batch" min:"1" help:"with -memory: train on batches of <N> sequences"`
	Device    graph.Device    `yaml:"device" help:"with -memory: train on <DEVICE>: cuda or cpu"`
	Precision graph.Precision `yaml:"precision" help:"with -memory, on cuda: compute matrix products in <TYPE>: fp32, tf32 or bf16; without, tf32"`
	Recompute graph.Recompute `yaml:"recompute" choices:"none, cheap, block"`
}

// Help returns the help texts that are too long for tags, by key.
func (training) Help() map[string]string {
	return map[string]string{
		"recompute": "with -memory: what the backward pass computes again, <none|cheap|block>: nothing, norms and activations, or all that " +
			"each block computed",
	}
}

// presetMemory is the memory that training a preset takes, in bytes.
type presetMemory struct {
	Name   string           `json:"name"`
	Batch  int              `json:"batch"`
	Seq    int              `json:"seq"`
	Memory graph.MemoryNeed `json:"memory"`
	Total  int              `json:"total"`
}

// runMemory carries out -memory.
func (c *call) runMemory(out commandline.Output, presets []models.Preset) error {
	if err := commandline.CheckDevice(c.Device, c.Precision); err != nil {
		return err
	}
	return show(c, out, presets, func(p models.Preset, s models.Spec) (presetMemory, error) {
		m, err := c.training.plan(s, true)
		return presetMemory{p.Name, c.Batch, s.Seq, m, m.Total()}, err
	}, memoryTable)
}

// plan plans a program that trains, or one that only computes the loss.
func (t training) plan(s models.Spec, trains bool) (graph.MemoryNeed, error) {
	o := graph.ProgramOptions{Options: graph.Options{Device: t.Device, Precision: t.Precision, Training: trains}}
	if trains {
		o.Gradients, o.Recompute = true, t.Recompute
	}
	return models.PredictMemory(s, t.Batch, s.Seq, models.Outputs{Loss: true, ExpertCounts: trains}, o)
}

func memoryTable(lines []presetMemory) string {
	t := figure.Table{Align: "lrrrrrrrrr"}
	t.Row("preset", "batch", "seq", "parameters", "gradients", "moments", "activations", "saved", "scratch", "total")
	for _, l := range lines {
		m := l.Memory
		t.Row(l.Name, fmt.Sprint(l.Batch), fmt.Sprint(l.Seq), megabytes(m.Parameters), megabytes(m.Gradients), megabytes(m.Moments),
			megabytes(m.Activations), megabytes(m.Saved), megabytes(m.Scratch), megabytes(l.Total))
	}
	return t.Within(columns).Text() + memoryLegend
}

func megabytes(n int) string { return fmt.Sprintf("%.0f MB", float64(n)/1e6) }

const memoryLegend = `
Memory of a training step on a batch of sequences of seq tokens, on a GPU or, with -device cpu, on this machine, in MB
of 1e6 bytes. On a GPU the driver's context, the kernels and cuBLAS come on top. saved: statistics that ops keep for
the backward pass; scratch: the most that one op takes while it runs.
`
