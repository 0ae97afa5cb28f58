//go:build cuda

package attention

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph/cuda"
)

// namedTile is a kernel's name with its tiles.
type namedTile struct {
	attentionTile
	kernel string // name without the precision
}

// named lists the kernels of a pass that programs use; kernel is their common name, without the
// size of heads.
func named(kernel string, tiles []attentionTile) (all []namedTile) {
	for _, t := range tiles {
		all = append(all, namedTile{t, t.name(kernel)})
	}
	return all
}

// attentionPass is the forward pass, or half of the backward pass, with all its kernels.
type attentionPass struct {
	name, source string
	used         []namedTile
	measured     []namedTile // the kernels of cuda/attention_measured_bf16.cu
	bytes        func(attentionTile, int) int
	products     int // number of products of queries and keys
}

func attentionPasses(p cuda.Precision) []attentionPass {
	used := attentionKernelsOf(p)
	passes := []attentionPass{
		{"forward", "forward", named("attention", used.forward), nil, attentionTile.forwardBytes, 2},
		{"queries", "backward", named("attention_queries", used.queries), nil, attentionTile.queriesBytes, 3},
		{"keys", "backward", named("attention_keys", used.keys), nil, attentionTile.keysBytes, 4},
	}
	if p == cuda.PrecisionBF16 {
		passes[0].measured = []namedTile{
			{attentionTile{64, 128, 64, 2}, "attention_64_128x64x2"},
			{attentionTile{64, 128, 32, 2}, "attention_64_128x32x3"},
			{attentionTile{64, 64, 64, 2}, "attention_64_64x64x4"},
		}
		passes[1].measured = []namedTile{
			{attentionTile{64, 128, 32, 2}, "attention_queries_64_128x32x2"},
			{attentionTile{64, 128, 64, 2}, "attention_queries_64_128x64x2"},
			{attentionTile{64, 64, 64, 2}, "attention_queries_64_64x64x3"},
		}
		passes[2].measured = []namedTile{
			{attentionTile{64, 64, 64, 2}, "attention_keys_64_64x64x3"},
			{attentionTile{64, 64, 32, 2}, "attention_keys_64_64x32x3"},
		}
	}
	return passes
}

// TestAttentionTilesAreTheKernels compares the tables of tiles with the sources of the kernels.
func TestAttentionTilesAreTheKernels(t *testing.T) {
	for _, p := range cuda.Precisions() {
		for _, pass := range attentionPasses(p) {
			macro := map[string]string{
				"forward": "ATTENTION_FORWARD", "queries": "ATTENTION_BACKWARD_QUERIES", "keys": "ATTENTION_BACKWARD_KEYS",
			}[pass.name]
			assert.Equal(t, readTiles(t, "attention_"+pass.source, macro, p), pass.used, "%s", p)
			if pass.measured != nil {
				assert.Equal(t, readTiles(t, "attention_measured", macro, p), pass.measured, "%s", p)
			}
			for _, tile := range append(pass.used, pass.measured...) {
				const static = 512 + 128 // upper bound of the static shared memory of these kernels
				assert.LessOrEqual(t, pass.bytes(tile.attentionTile, p.Activation().Size()), 99<<10-static, "%s %s", tile.kernel, p)
			}
		}
	}
}

// readTiles returns the kernels that uses of a macro define: MACRO(name, numbers, D, M, warps that
// share rows, columns, stages, blocks). In the forward pass the macro has no argument for warps.
func readTiles(t *testing.T, file, macro string, p cuda.Precision) (tiles []namedTile) {
	text, err := os.ReadFile(filepath.Join("..", "..", "cuda", file+"_"+string(p)+".cu"))
	require.NoError(t, err)
	for _, use := range regexp.MustCompile(`(?m)^`+macro+`\((\w+)_`+string(p)+`, \w+, (.*)\)$`).FindAllStringSubmatch(string(text), -1) {
		var n []int
		for _, number := range strings.Split(use[2], ", ") {
			i, err := strconv.Atoi(number)
			require.NoError(t, err)
			n = append(n, i)
		}
		if macro == "ATTENTION_FORWARD" {
			n = append(n[:2], append([]int{1}, n[2:]...)...)
		}
		require.Len(t, n, 6, use[0])
		tile := attentionTile{n[0], 64 * n[1] / n[2], n[3], n[4]}
		if file == "attention_measured" {
			assert.True(t, strings.HasSuffix(use[1], fmt.Sprintf("_%dx%dx%d", tile.rows, tile.columns, n[5])), use[0])
		}
		tiles = append(tiles, namedTile{tile, use[1]})
	}
	require.NotEmpty(t, tiles)
	return tiles
}
