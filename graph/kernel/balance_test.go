package kernel

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// leastBalance is what the mean worker's share must be of the busiest worker's, at the sizes of
// real models and on real machines. docs/speed.md lists what does not reach it.
const leastBalance = 0.95

// balanceTokens is the number of tokens of a step on such a machine.
const balanceTokens = 32 * 512

// shares returns the cost of all items, and of those that Do gives to the busiest worker.
func shares(threads, items int, cost func(item int) int) (all, most int) {
	for w := range threads {
		share := 0
		for item := w * items / threads; item < (w+1)*items/threads; item++ {
			share += cost(item)
		}
		all, most = all+share, max(most, share)
	}
	return all, most
}

func assertBalanced(t *testing.T, threads, all, most int, of ...any) {
	t.Helper()
	assert.GreaterOrEqual(t, float64(all), leastBalance*float64(threads*most), "%d threads: %v", threads, of)
}

func forManyThreads(test func(threads int)) {
	for _, threads := range []int{8, 16, 64} {
		test(threads)
	}
}

// TestWorkIsBalanced simulates how pieces of tokens are divided.
func TestWorkIsBalanced(t *testing.T) {
	forManyThreads(func(threads int) {
		for _, size := range []int{pieceTokens, gatedPiece, backwardPiece, tanhPieceTokens} {
			p := pieces{balanceTokens, size}
			all, most := shares(threads, p.number(), func(i int) int {
				first, end := p.items(i)
				return end - first
			})
			assertBalanced(t, threads, all, most, "pieces of", size)
		}
	})
}

func TestProductsAreBalanced(t *testing.T) {
	memory := make([]float32, 1<<26) // operands, of which the test takes no entry
	sizes := [][2]int{{256, 256}, {256, 1024}, {384, 1152}, {384, 1536}, {768, 768}, {768, 3072}, {768, 2304}, {512, 50257}, {1024, 4096}}
	forManyThreads(func(threads int) {
		for _, s := range sizes {
			for _, q := range []product[float32]{{m: s[0], n: s[1], k: balanceTokens, ta: true}, {m: balanceTokens, n: s[1], k: s[0]}, {m: balanceTokens, n: s[0], k: s[1]}} {
				for _, kernels := range []*microkernels{&avx2Kernels, &avx512Kernels} {
					task := gemmTask[float32]{product: q, kernels: kernels, division: q.divide(threads, kernels)}
					task.a, task.b, task.c = memory, memory, memory
					all, most := shares(threads, task.division.parts(), func(part int) int {
						cell := task.cell(part/task.division.columns, part%task.division.columns)
						return cell.m * cell.n
					})
					assertBalanced(t, threads, all, most, q.m, q.n, q.k, task.division)
				}
			}
		}
	})
}

// TestAttentionIsBalanced, for rows of one document; a block of queries costs the keys that it
// sees.
func TestAttentionIsBalanced(t *testing.T) {
	forManyThreads(func(threads int) {
		for _, d := range []AttentionParams{
			{Batch: 32, Seq: 512, Heads: 12}, {Batch: 32, Seq: 512, Heads: 14}, {Batch: 128, Seq: 128, Heads: 8}, {Batch: 32, Seq: 512, Heads: 12, KVHeads: 4},
		} {
			a := Attention[float32]{d: d}
			pair := 0
			queries := func(item int) int {
				i0, i1 := a.block(balanced(item%a.blocks(), a.blocks()))
				return (i1 - i0) * i1
			}
			for block := range a.blocks() {
				pair += queries(block)
			}
			group := func(int) int { return pair * d.group() }
			rest := d.groups() % threads
			all, most := shares(threads, d.groups()-rest, group)
			split, mostSplit := shares(threads, rest*d.group()*a.blocks(), queries)
			assertBalanced(t, threads, all+split, most+mostSplit, "forward", d)
			all, most = shares(threads, wholeBackwardGroups(d.groups(), threads), group)
			assertBalanced(t, threads, all, most, "backward", d)
		}
	})
}

// TestLossIsBalanced, over bytes and over GPT-2's tokens.
func TestLossIsBalanced(t *testing.T) {
	forManyThreads(func(threads int) {
		for _, vocab := range []int{256, 50257} {
			k := CrossEntropyBFloat16{args: CrossEntropyArgs[float32]{Tokens: balanceTokens, Vocab: vocab}, stride: vocab}
			k.tokens = make([]lossToken, k.chunk())
			all, most := shares(threads, k.slices()*k.tiles(), func(item int) int {
				tile := item % k.tiles()
				rows := min(len(k.tokens), (tile+1)*k.tile()) - tile*k.tile()
				return rows * min(lossSlice, vocab-item/k.tiles()*lossSlice)
			})
			assertBalanced(t, threads, all, most, "bfloat16", vocab)
			tokens := crossEntropyChunk(balanceTokens, vocab, 4, crossEntropyBytes)
			all, most = shares(threads, tokens, func(int) int { return 1 })
			assertBalanced(t, threads, all, most, "float32", vocab)
		}
	})
}

// leastEmbeddingBalance is less, because no cache line of a frequent token's row is divided.
const leastEmbeddingBalance = 0.8

// TestEmbeddingGradIsBalanced, for the bytes of a text; an addition costs 1.
func TestEmbeddingGradIsBalanced(t *testing.T) {
	text, err := os.ReadFile("sumrows.go")
	require.NoError(t, err)
	const vocab, width = 128, 384
	ids, dtable := make([]int32, len(text)), make([]float32, vocab*width)
	for i, letter := range text {
		ids[i] = int32(letter)
	}
	k := embeddingBackward[float32]{dtable: dtable, dout: slices.Repeat([]float32{1}, len(ids)*width), ids: ids, width: width, scale: 1, accumulate: true}
	items := k.weigh(vocab)
	forManyThreads(func(threads int) {
		clear(dtable)
		all, most := 0, 0
		for w := range threads {
			k.Part(w, w*items/threads, (w+1)*items/threads)
			before := all
			all = int(sumAbout(portable, dtable, 0))
			most = max(most, all-before)
		}
		assert.Equal(t, len(ids)*width, all)
		assert.GreaterOrEqual(t, float64(all), leastEmbeddingBalance*float64(threads*most), "%d threads", threads)
	})
}

// TestOptimizerIsBalanced: all parameters are divided together, however small.
func TestOptimizerIsBalanced(t *testing.T) {
	forManyThreads(func(threads int) {
		p := NewPool(threads)
		p.Simulate()
		var adam AdamW[float32]
		var norm GlobalNorm[float32]
		const blocks = 80
		for range blocks {
			w := make([]float32, squaresBlock)
			adam.Add(w, w, w, w, AdamWParams{})
			norm.Add(w)
		}
		p.BeginRun()
		norm.SumSquares(p)
		adam.Run(p)
		p.EndRun(&Simulation{})
		assert.Equal(t, []int{blocks, blocks * squaresBlock}, p.items)
	})
}
