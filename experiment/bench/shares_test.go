package bench

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// discard is an input that nobody reads.
type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) Close() error                { return nil }

// TestShares: the share of the work that is done grows to 1 over comparisons of different work,
// in which the warm-up counts as a round.
func TestShares(t *testing.T) {
	var got []float64
	b := &Bench{o: Options{Rounds: 1, Progress: func(share float64) { got = append(got, share) }}, report: &Report{Machine: &Machine{GPU: "none is measured"}}}
	b.begin([]float64{3, 1})
	for range 2 {
		var workers []*worker
		for range 2 {
			workers = append(workers, &worker{input: discard{}, replies: json.NewDecoder(strings.NewReader(`{"seconds": [1]}`))})
		}
		_, err := b.compare(context.Background(), "nothing", 1, workers)
		require.NoError(t, err)
	}
	require.Equal(t, []float64{0, 0.375, 0.5625, 0.75, 0.75, 0.875, 0.9375, 1}, got)
}
