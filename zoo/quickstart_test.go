package zoo_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/analysis/blocks"
	"github.com/residua-go/residua/analysis/report"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/pretrained"
)

const file = "zoo:quickstart"

// TestEveryBlockIsWorthSomething: without any one block after the first, the loss on held-out text
// rises by at least 0.05 nats; without any one sublayer, by at least 0.005. The model's own score
// is at most 2.07 bits per byte.
func TestEveryBlockIsWorthSomething(t *testing.T) {
	longtest.Skip(t)
	m, err := pretrained.Open(file)
	require.NoError(t, err)
	of, err := report.Of(m)
	require.NoError(t, err)
	text, err := of.Text(context.Background(), nil, 0)
	require.NoError(t, err)
	const rows = 8
	var ids [][]int32
	for i := range rows {
		ids = append(ids, text[i*(len(text)/rows):][:m.Spec.Seq])
	}
	worth, err := blocks.Ablate(t.Context(), m.Store, m.Spec, ids, 0)
	require.NoError(t, err)
	for _, p := range worth.Parts {
		least := 0.005
		if strings.Count(p.Name, ".") == 1 { // a block
			least = 0.05
		}
		assert.Greater(t, p.Rise, least, p.Name)
	}
	assert.Empty(t, worth.Idle(0.005))
	score, err := m.Evaluate(context.Background(), pretrained.EvaluateOptions{Tokens: 16384})
	require.NoError(t, err)
	assert.Less(t, score.BitsPerByte, 2.07)
}
