package roofline

import (
	"fmt"

	"github.com/residua-go/residua/figure"
)

// Table lists the times by type of op.
func (p *Prediction) Table() figure.Table {
	t := figure.Table{Align: "lrrrrrrr"}
	t.Row("op", "runs", "launches", "bytes", "FLOPs", "time", "share", "GB/s, TFLOP/s")
	for _, op := range p.Ops {
		t.Row(op.OpType, op.Runs, op.Launches, fmt.Sprintf("%.0f MB", float64(op.Bytes)/1e6),
			fmt.Sprintf("%.1f G", float64(op.FLOPs)/giga), milliseconds(op.Seconds), fmt.Sprintf("%.1f%%", 100*op.Seconds/p.DeviceSeconds),
			fmt.Sprintf("%.0f, %.0f", float64(op.Bytes)/op.Seconds/giga, float64(op.FLOPs)/op.Seconds/tera))
	}
	return t
}

// Summary describes the step in a line.
func (p *Prediction) Summary() string {
	return fmt.Sprintf("%s, %s, %d x %d tokens: %s on the device, %s to start it all; %.0f tokens/s, MFU %.1f%%",
		p.GPU, p.Precision, p.Batch, p.Seq, milliseconds(p.DeviceSeconds), milliseconds(p.HostSeconds), p.TokensPS, 100*p.MFU)
}

func milliseconds(s float64) string { return fmt.Sprintf("%.2f ms", 1e3*s) }

// SummaryTable lists presets, one a line, in the order of names.
func SummaryTable(names []string, predictions []*Prediction) figure.Table {
	t := figure.Table{Align: "lrrrrrrrr"}
	t.Row("preset", "batch x seq", "launches", "bytes", "FLOPs", "device", "host", "tokens/s", "MFU")
	for i, p := range predictions {
		launches, bytes, flops := 0, 0, 0
		for _, op := range p.Ops {
			launches, bytes, flops = launches+op.Launches, bytes+op.Bytes, flops+op.FLOPs
		}
		t.Row(names[i], fmt.Sprintf("%d x %d", p.Batch, p.Seq), launches, fmt.Sprintf("%.1f GB", float64(bytes)/giga),
			fmt.Sprintf("%.2f T", float64(flops)/tera), milliseconds(p.DeviceSeconds), milliseconds(p.HostSeconds),
			fmt.Sprintf("%.0f", p.TokensPS), fmt.Sprintf("%.1f%%", 100*p.MFU))
	}
	return t
}

// EfficiencyTable lists the assumptions of predictions.
func EfficiencyTable() figure.Table {
	t := figure.Table{Align: "lrr"}
	t.Row("work", "of the bandwidth", "of the peak of products")
	for _, e := range efficiencies() {
		product := "-"
		if e.Product > 0 {
			product = fmt.Sprintf("%.0f%%", 100*e.Product)
		}
		t.Row(e.Work, fmt.Sprintf("%.0f%%", 100*e.Memory), product)
	}
	return t
}
