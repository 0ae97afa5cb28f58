package bench

import (
	"fmt"
	"strings"

	"github.com/residua-go/residua/figure"
)

// Tables returns the report's tables, in the order in which they are measured.
func (r *Report) Tables() []figure.Table {
	var tables []figure.Table
	for _, t := range []figure.Table{r.modelTable(), r.sizeTable(), r.pytorchTable(), r.threadsTable(), r.stockTable(), r.productTable(), r.designTable(),
		r.generationTable()} {
		if len(t.Rows) > 0 {
			tables = append(tables, t)
		}
	}
	return tables
}

// String describes the machine.
func (m *Machine) String() string {
	switch {
	case m.GPU == "":
		text := fmt.Sprintf("machine: %d threads, peak %.0f GFLOPS (measured: a %s matrix product of %d^3)", m.Threads, m.PeakGFLOPS, m.precision(), peakSide)
		if m.CopyGBs > 0 {
			text += fmt.Sprintf(", copy %.1f GB/s (read and written)", m.CopyGBs)
		}
		if m.Multiplies != "" {
			text += "\n" + strings.TrimSpace(m.Processor+" multiplies "+m.Multiplies)
		}
		return text + "\n"
	case m.PeakGFLOPS == 0:
		return fmt.Sprintf("machine: %s, %s, peak unknown: give it as -peak TFLOPS\n", m.GPU, m.Precision)
	}
	return fmt.Sprintf("machine: %s, %s, peak %.1f TFLOPS (data sheet, without sparsity)\n", m.GPU, m.Precision, m.PeakGFLOPS/1e3)
}

// peakName returns the header for a share of the machine's peak.
func (m *Machine) peakName() string {
	if m.GPU != "" {
		return "% of peak"
	}
	return "% of peak GEMM"
}

func (r *Report) modelTable() figure.Table {
	t := figure.Table{Title: "Training speed", Align: "llrrrrrrrr",
		Header: []string{"model", "batch x seq", "parameters", "MFLOP/token", "tokens/s", "ms/step", "GFLOPS", r.Machine.peakName(), "peak MB", "planned MB"}}
	for _, m := range r.Models {
		t.Row(m.Name, size(m.Batch, m.Seq), millions(m.Parameters), fmt.Sprintf("%.1f", float64(m.TrainFLOPs)/1e6),
			whole(m.TokensPS), milliseconds(m.Timing), whole(m.GFLOPS), percent(m.Share), megabytes(m.PeakBytes), megabytes(m.Predicted))
	}
	return t
}

func (r *Report) sizeTable() figure.Table {
	t := figure.Table{Title: "Compared with the transformer, per token", Align: "llrrr", Header: []string{"model", "transformer", "time", "FLOPs", "time / FLOPs"}}
	for _, s := range r.Sizes {
		t.Row(s.Model, s.Transformer, fmt.Sprintf("%.3fx", s.Time), fmt.Sprintf("%.3fx", s.FLOPs), fmt.Sprintf("%.3f", s.Excess))
	}
	return t
}

// pytorchNote explains the table.
const pytorchNote = `speedup, activation memory: Residua's over that implementation's, where activation memory is the peak less %d bytes a parameter
(weight, gradient, AdamW's moments); Residua's step clips the gradient, the others' do not`

// gpuNote is about the memory of a GPU.
const gpuNote = `peak MB: Residua's is all that its program has taken of the GPU, kernels and cuBLAS included; PyTorch's, max_memory_allocated`

func (r *Report) pytorchTable() figure.Table {
	t := figure.Table{Title: "Compared with other frameworks", Align: "llrrrrrr", Note: fmt.Sprintf(pytorchNote, stateBytes),
		Header: []string{"model", "implementation", "tokens/s", "ms/step", r.Machine.peakName(), "peak MB", "speedup", "activation memory"}}
	row := func(model, implementation string, of Timing, speedup, memory string) {
		t.Row(model, implementation, whole(of.TokensPS), milliseconds(of), percent(r.Machine.share(of.GFLOPS)), megabytes(of.PeakBytes), speedup, memory)
	}
	for _, p := range r.PyTorch {
		if p.Version != "" {
			t.Title = "Compared with " + p.Version
		}
		row(p.Name, implementationName(residua), p.Residua, "", "")
		for _, b := range p.Baselines {
			memory := "-"
			if b.Memory != 0 {
				memory = fmt.Sprintf("%.2fx", b.Memory)
			}
			row("", implementationName(b.Mode), b.Timing, fmt.Sprintf("%.2fx", b.Speedup), memory)
		}
	}
	if r.Machine.GPU != "" {
		t.Note += "\n" + gpuNote
	}
	return t
}

func (r *Report) threadsTable() figure.Table {
	if len(r.Threads) == 0 {
		return figure.Table{}
	}
	t := figure.Table{Title: "Threads", Align: "lrrr", Header: []string{"model", "1: ms/step", fmt.Sprintf("%d: ms/step", r.Threads[0].Threads), "speedup"}}
	for _, s := range r.Threads {
		t.Row(s.Name, milliseconds(s.One), milliseconds(s.All), fmt.Sprintf("%.2fx", s.Speedup))
	}
	return t
}

func (r *Report) stockTable() figure.Table {
	t := figure.Table{Title: "Compared with stock Gorgonia", Align: "lllrrrr",
		Header: []string{"model", "batch x seq", "implementation", "tokens/s", "ms/step", "peak MB", "speedup"}}
	for _, s := range r.Stock {
		t.Row(s.Name, size(s.Batch, s.Seq), implementationName(residua), whole(s.Residua.TokensPS), milliseconds(s.Residua), megabytes(s.Residua.PeakBytes), "")
		t.Row("", "", implementationName(stock), whole(s.Stock.TokensPS), milliseconds(s.Stock), megabytes(s.Stock.PeakBytes), fmt.Sprintf("%.1fx", s.Speedup))
	}
	return t
}

func (r *Report) productTable() figure.Table {
	t := figure.Table{Title: "Matrix products", Align: "lrrrr", Note: "N: an operand as it is, T: stored transposed",
		Header: []string{"M x K x N", "GFLOPS", "% of peak GEMM", "PyTorch's GFLOPS", "speedup"}}
	for _, p := range r.Products {
		theirs, ratio := "-", "-"
		if p.PyTorch > 0 {
			theirs, ratio = whole(p.PyTorch), fmt.Sprintf("%.2fx", p.Ratio)
		}
		t.Row(p.Shape, whole(p.GFLOPS), percent(p.Share), theirs, ratio)
	}
	return t
}

// designNote explains the table.
const designNote = `time, FLOPs and bytes of a step are relative to the plain transformer of the same shape: the time in the turns that
both took, FLOPs of matrix products, bytes that the graph's ops read and write, each tensor of an op once; the optimizer's are not counted`

func (r *Report) designTable() figure.Table {
	t := figure.Table{Title: "Residual designs compared with the plain transformer", Align: "lllrrrrrr", Note: designNote,
		Header: []string{"model", "shape", "batch x seq", "parameters", "time", "FLOPs", "bytes", "tokens/s", "peak MB"}}
	for _, d := range r.Designs {
		t.Row(d.Name+byOptimizer(d.Optim), d.Shape, size(d.Batch, d.Seq), millions(d.Parameters), fmt.Sprintf("%.3fx", d.Time),
			fmt.Sprintf("%.3fx", d.FLOPs), fmt.Sprintf("%.3fx", d.Bytes), whole(d.TokensPS), megabytes(int(d.PeakMB*1e6)))
	}
	return t
}

func size(batch, seq int) string { return fmt.Sprintf("%d x %d", batch, seq) }

func whole(v float64) string { return fmt.Sprintf("%.0f", v) }

func millions(n int) string { return fmt.Sprintf("%.2fM", float64(n)/1e6) }

func milliseconds(t Timing) string {
	if t.StepSeconds < 0.1 {
		return fmt.Sprintf("%.2f", 1e3*t.StepSeconds)
	}
	return whole(1e3 * t.StepSeconds)
}

// percent formats a share of the peak, "-" if it is unknown.
func percent(share float64) string {
	if share == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100*share)
}

// megabytes formats millions of bytes, "-" if the system does not say.
func megabytes(bytes int) string {
	if bytes == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f", float64(bytes)/1e6)
}
