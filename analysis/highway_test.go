package analysis_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/stream"
)

// TestReaders: sites read in the order of the run, and each feed-forward reads after its
// block's attention.
func TestReaders(t *testing.T) {
	run, _ := decompose(t, zoo(t)["highway"], tensor.Float32)
	frozen, err := run.Model().Stream().(stream.Additive).Freeze(run)
	require.NoError(t, err)
	assert.Equal(t, []string{"blocks.0.attention", "blocks.0.feedforward", "blocks.1.attention"}, frozen.Readers()[:3])
	assert.Equal(t, []string{"embedding.tokens", "embedding.positions", "blocks.0.attention", "blocks.0.attention.sdu", "blocks.0.feedforward",
		"blocks.0.feedforward.sdu", "blocks.1.attention"}, frozen.Sources()[:7])
}
