package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// overSteps is an analysis over the steps of a run, as analyze -over -json writes it.
type overSteps struct {
	Results map[string]struct {
		Steps  []int
		Curves []struct {
			Name   string
			Values []float64
		}
	}
}

// at returns the largest value at a step among the curves of a result, or that of the named curve.
func (o overSteps) at(result string, step int, curve string) (most float64) {
	r := o.Results[result]
	for _, c := range r.Curves {
		if curve == "" || c.Name == curve {
			most = max(most, c.Values[slices.Index(r.Steps, step)])
		}
	}
	return most
}

// TestLastingPage: docs/lasting.md shows what the analyses of studies/lasting-muon-32 found.
func TestLastingPage(t *testing.T) {
	read := func(name string) (o overSteps) {
		text, err := os.ReadFile("../studies/lasting-muon-32/why/" + name + ".json")
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &o))
		return o
	}
	page, err := os.ReadFile("../docs/lasting.md")
	require.NoError(t, err)
	memory, rows := read("rmt-memory"), 0
	for line := range strings.Lines(string(page)) {
		var step int
		if _, err := fmt.Sscanf(line, "| %d |", &step); err != nil {
			continue
		}
		want := fmt.Sprintf("| %d |", step)
		for _, model := range []string{"transformer-heads", "rmt-heads"} {
			heads := read(model)
			for _, result := range []string{"loss-nats-a-token", "induction-score", "previous-token-score"} {
				want += fmt.Sprintf(" %.3f |", heads.at(result, step, ""))
			}
		}
		want += fmt.Sprintf(" %.3f |\n", memory.at("retrieval-error-of-keys-over-that-of-random-ones", step, "all sites writes"))
		assert.Equal(t, want, line)
		rows++
	}
	assert.Equal(t, 7, rows)
	for model, rises := range map[string]string{"transformer-blocks": "5.0, 2.1, 1.7 and 1.2", "rmt-blocks": "8.4, 4.6, 1.6 and 5.6"} {
		blocks, last := read(model), 21875
		rise := func(block int) float64 { return blocks.at("change-of-the-loss", last, fmt.Sprint("blocks.", block)) }
		assert.Equal(t, fmt.Sprintf("%.1f, %.1f, %.1f and %.1f", rise(0), rise(1), rise(2), rise(3)), rises)
		assert.Contains(t, string(page), rises)
	}
}
