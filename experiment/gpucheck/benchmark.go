package gpucheck

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/pkg/errors"
)

// speed is one implementation's in a report of bench.
type speed struct {
	Mode      string  `json:"mode"`
	TokensPS  float64 `json:"tokens_per_s"`
	GFLOPS    float64 `json:"gflops"`
	PeakBytes int     `json:"peak_bytes"`
	Speedup   float64 `json:"speedup"`
}

// benchmark is what the check takes of such a report.
type benchmark struct {
	Machine struct {
		PeakGFLOPS float64 `json:"peak_gflops"`
	} `json:"machine"`
	Models []struct {
		Name string `json:"name"`
		speed
	} `json:"models"`
	PyTorch []struct {
		Name      string  `json:"name"`
		Ours      speed   `json:"ours"`
		Baselines []speed `json:"baselines"`
	} `json:"pytorch"`
}

// readBenchmark reads a report of bench; none is no error.
func readBenchmark(path string) (*benchmark, error) {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return &benchmark{}, nil
	}
	if err != nil {
		return nil, errors.WithStack(err)
	}
	b := &benchmark{}
	return b, errors.Wrap(json.Unmarshal(text, b), path)
}

// figures has a line a model: compared with PyTorch where that was measured, else alone.
func (b *benchmark) figures() []string {
	var lines []string
	for _, p := range b.PyTorch {
		line := fmt.Sprintf("%s, compared with PyTorch: %s", p.Name, b.describe(p.Ours))
		for _, r := range p.Baselines {
			line += fmt.Sprintf("; %s %s: ours is %.2fx", r.Mode, b.describe(r), r.Speedup)
		}
		lines = append(lines, line)
	}
	for _, m := range b.Models {
		lines = append(lines, fmt.Sprintf("%s: %s", m.Name, b.describe(m.speed)))
	}
	return lines
}

func (b *benchmark) describe(s speed) string {
	text := fmt.Sprintf("%.0f tokens/s", s.TokensPS)
	if b.Machine.PeakGFLOPS > 0 {
		text += fmt.Sprintf(" (%.0f%% of peak)", 100*s.GFLOPS/b.Machine.PeakGFLOPS)
	}
	return text + fmt.Sprintf(", %.1f GB", float64(s.PeakBytes)/1e9)
}
