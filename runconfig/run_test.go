package runconfig_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
)

// TestShortRunsEvaluateOnLittle: without eval_tokens, all evaluations together take 3% of the
// FLOPs, and each scores at least a row and at most 262144 tokens; a given number is kept.
func TestShortRunsEvaluateOnLittle(t *testing.T) {
	for _, c := range []struct {
		train string
		want  int
	}{
		{"steps: 1", 32},
		{"steps: 100", 100 * 2 * 32 * 9 / 100},
		{"steps: 100, eval_every: 40", 100 * 2 * 32 * 3 / 100},
		{"steps: 1000000, stop: {tokens: 3200}", 3200 * 9 / 100},
		{"tokens: 6400", 6400 * 9 / 100},
		{"steps: 1000000", 262144},
		{"steps: 1, eval_tokens: 0", 0},
		{"steps: 1, eval_tokens: 5000", 5000},
	} {
		yaml := fmt.Sprintf("model: {stream: {kind: vector, d_model: 8}, attention: {heads: 2}, feedforward: {kind: gelu, hidden: 16}, layers: 1, seq: 32}\ntrain: {batch: 2, lr: 1e-2, %s}\n", c.train)
		run, _, err := runconfig.Parse(models.Standard(), "short.yaml", []byte(yaml), nil)
		require.NoError(t, err)
		assert.Equal(t, c.want, run.Train.EvalTokens, c.train)
	}
}
