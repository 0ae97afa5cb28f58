package main

import (
	"fmt"
	"strings"

	"github.com/residua-go/residua/internal/cli"
)

// String is the report for reading.
func (r *report) String() string {
	var text strings.Builder
	text.WriteString(r.Machine.String())
	for _, section := range []string{modelTable(r.Models), sizeTable(r.Sizes), pytorchTable(r.PyTorch, r.Machine), scalingTable(r.Scaling), stockTable(r.Stock), gemmTable(r.Gemm), zooTable(r.Zoo)} {
		if section != "" {
			text.WriteString("\n" + section)
		}
	}
	return text.String()
}

// String is the report's first line.
func (m *machine) String() string {
	switch {
	case m.GPU == "":
		return fmt.Sprintf("machine: %d threads, %.0f GFLOPS (float32, our product of %d^3), copy %.1f GB/s (read and written)\n",
			m.Threads, m.PeakGFLOPS, peakSide, m.CopyGBs)
	case m.PeakGFLOPS == 0:
		return fmt.Sprintf("machine: %s, %s, peak unknown: -peak TFLOPS names it\n", m.GPU, m.Precision)
	}
	return fmt.Sprintf("machine: %s, %s, peak %.1f TFLOPS (data sheet, without sparsity)\n", m.GPU, m.Precision, m.PeakGFLOPS/1e3)
}

func modelTable(results []modelResult) string {
	if len(results) == 0 {
		return ""
	}
	t := cli.Table{Align: "llrrrrrrrr"}
	t.Row("training", "batch x seq", "parameters", "MFLOP a token", "tokens/s", "ms a step", "GFLOPS", "of peak", "peak MB", "planned MB")
	for _, r := range results {
		t.Row(r.Name, fmt.Sprintf("%d x %d", r.Batch, r.Seq), fmt.Sprintf("%.2fM", float64(r.Parameters)/1e6), fmt.Sprintf("%.1f", float64(r.TrainFLOPs)/1e6),
			fmt.Sprintf("%.0f", r.TokensPS), milliseconds(r.timing), fmt.Sprintf("%.0f", r.GFLOPS), percent(r.Share), megabytes(r.PeakBytes), megabytes(r.Predicted))
	}
	return t.String()
}

func sizeTable(results []sizeResult) string {
	if len(results) == 0 {
		return ""
	}
	t := cli.Table{Align: "lrrr"}
	t.Row("model : transformer", "time", "FLOPs", "time/FLOPs")
	for _, r := range results {
		t.Row(r.Model+" : "+r.Transformer, fmt.Sprintf("%.3f", r.Time), fmt.Sprintf("%.3f", r.FLOPs), fmt.Sprintf("%.3f", r.Excess))
	}
	return t.String()
}

func pytorchTable(results []pytorchResult, m *machine) string {
	if len(results) == 0 {
		return ""
	}
	t := cli.Table{Align: "llrrrrrr"}
	row := func(timed timing, cells ...string) {
		if m.GPU != "" {
			cells = append(cells, percent(m.share(timed.GFLOPS)))
		}
		t.Row(cells...)
	}
	header := []string{results[0].Version, "", "tokens/s", "ms a step", "ours is", "peak MB", "our memory"}
	if m.GPU != "" {
		header = append(header, "of peak")
	}
	t.Row(header...)
	for _, r := range results {
		row(r.Ours, r.Name, ours, fmt.Sprintf("%.0f", r.Ours.TokensPS), milliseconds(r.Ours), "", megabytes(r.Ours.PeakBytes), "")
		for _, rival := range r.Rivals {
			memory := ""
			if r.Ours.PeakBytes > 0 && rival.PeakBytes > 0 {
				memory = fmt.Sprintf("%.2fx", rival.Memory)
			}
			row(rival.timing, "", rival.Mode, fmt.Sprintf("%.0f", rival.TokensPS), milliseconds(rival.timing), fmt.Sprintf("%.2fx", rival.Speedup), megabytes(rival.PeakBytes), memory)
		}
	}
	return t.String() + pytorchLegend(m)
}

// pytorchLegend explains the table.
func pytorchLegend(m *machine) string {
	legend := fmt.Sprintf("our memory: the peak beyond %d bytes a parameter (weight, gradient, moments) over theirs; PyTorch's step does not clip, ours does\n", optimizerBytes)
	if m.GPU != "" {
		legend += "peak MB: ours, what the program has taken of the GPU, kernels and cuBLAS included; PyTorch's, max_memory_allocated of its steps\n"
	}
	return legend
}

func scalingTable(results []scalingResult) string {
	if len(results) == 0 {
		return ""
	}
	t := cli.Table{Align: "lrrr"}
	t.Row("threads", "1: ms a step", fmt.Sprintf("%d: ms a step", results[0].Threads), "speedup")
	for _, r := range results {
		t.Row(r.Name, milliseconds(r.One), milliseconds(r.All), fmt.Sprintf("%.2fx", r.Speedup))
	}
	return t.String()
}

func stockTable(results []stockResult) string {
	if len(results) == 0 {
		return ""
	}
	t := cli.Table{Align: "lllrrrr"}
	t.Row("stock Gorgonia", "batch x seq", "", "tokens/s", "ms a step", "ours is", "peak MB")
	for _, r := range results {
		t.Row(r.Name, fmt.Sprintf("%d x %d", r.Batch, r.Seq), ours, fmt.Sprintf("%.0f", r.Ours.TokensPS), milliseconds(r.Ours), "", megabytes(r.Ours.PeakBytes))
		t.Row("", "", stock, fmt.Sprintf("%.0f", r.Stock.TokensPS), milliseconds(r.Stock), fmt.Sprintf("%.1fx", r.Speedup), megabytes(r.Stock.PeakBytes))
	}
	return t.String()
}

func gemmTable(results []gemmResult) string {
	if len(results) == 0 {
		return ""
	}
	t := cli.Table{Align: "lrrrr"}
	header := []string{"product, M x K x N", "GFLOPS", "of peak"}
	if results[0].PyTorch > 0 {
		header = append(header, "PyTorch", "ours is")
	}
	t.Row(header...)
	for _, r := range results {
		row := []string{r.Shape, fmt.Sprintf("%.0f", r.Ours), percent(r.Share)}
		if r.PyTorch > 0 {
			row = append(row, fmt.Sprintf("%.0f", r.PyTorch), fmt.Sprintf("%.2fx", r.Ratio))
		}
		t.Row(row...)
	}
	return t.String()
}

func milliseconds(t timing) string {
	if t.StepSeconds < 0.1 {
		return fmt.Sprintf("%.2f", 1e3*t.StepSeconds)
	}
	return fmt.Sprintf("%.0f", 1e3*t.StepSeconds)
}

// percent writes a share of the peak, "-" where that is unknown.
func percent(share float64) string {
	if share == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100*share)
}

// megabytes writes millions of bytes, "-" where the system does not tell.
func megabytes(bytes int) string {
	if bytes == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f", float64(bytes)/1e6)
}
