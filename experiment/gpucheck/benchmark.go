package gpucheck

import (
	"fmt"
	"os"

	"github.com/residua-go/residua/experiment/bench"
)

// benchmarkFigures returns a line for each model in a report of bench: compared with PyTorch if
// that was measured, otherwise alone. Without a report it returns none.
func benchmarkFigures(path string) (lines []string, err error) {
	r, err := bench.ReadReport(path)
	if os.IsNotExist(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	for _, p := range r.PyTorch {
		line := fmt.Sprintf("%s, compared with PyTorch: %s", p.Name, describe(r, p.Residua))
		for _, b := range p.Baselines {
			line += fmt.Sprintf("; %s %s: ours is %.2fx", b.Mode, describe(r, b.Timing), b.Speedup)
		}
		lines = append(lines, line)
	}
	for _, m := range r.Models {
		lines = append(lines, fmt.Sprintf("%s: %s", m.Name, describe(r, m.Timing)))
	}
	return lines, nil
}

func describe(r *bench.Report, t bench.Timing) string {
	text := fmt.Sprintf("%.0f tokens/s", t.TokensPS)
	if r.Machine.PeakGFLOPS > 0 {
		text += fmt.Sprintf(" (%.0f%% of peak)", 100*t.GFLOPS/r.Machine.PeakGFLOPS)
	}
	return text + fmt.Sprintf(", %.1f GB", float64(t.PeakBytes)/1e9)
}
