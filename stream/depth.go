package stream

import "fmt"

// DepthReader is a stream that reads weighted sums of what was written at earlier depths, as
// DenseFormer, MUDD and attention residuals do. It tells who reads which layer.
type DepthReader interface {
	Stream
	// DepthReads names all sources, in the order in which they are made, and lists the sums in the
	// order of the run.
	DepthReads() (sources []string, reads []DepthRead)
}

// DepthRead is one place where such a stream reads: a sum of the same sources for each of its
// readers.
type DepthRead struct {
	Name    string   // of the site, "blocks.3.attention", or of what follows a block, "blocks.3.mudd"
	Readers []string // who gets a sum, such as "blocks.4.attention.q"
	Of      []int    // numbers of the sources
	// Weights is the hook of the weights, [T, readers * sources] or the same for all tokens, with
	// those of a reader side by side; "" if there is one source, which is read without a weight.
	Weights string
	// Softmax tells whether a reader's weights are positive and sum to 1.
	Softmax bool
}

// weightsHook is the end of the names of hooks of weights.
const weightsHook = ".weights"

// blockSources returns the names of the embedding and the blocks' outputs.
func blockSources(layers int) []string {
	sources := []string{"embedding"}
	for block := range layers {
		sources = append(sources, blockName(block))
	}
	return sources
}

// blockReader names the reader of a block's output: the next block, or after the last of layers
// blocks the unembedding.
func blockReader(block, layers int) string {
	if block == layers-1 {
		return Unembedding
	}
	return blockName(block + 1)
}

// blocksPrefix is the prefix of all names in a block.
const blocksPrefix = "blocks."

// blockName returns "blocks.3" for block 3.
func blockName(block int) string { return fmt.Sprint(blocksPrefix, block) }
