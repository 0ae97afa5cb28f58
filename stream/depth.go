package stream

import "fmt"

// DepthReader is a stream that reads weighted sums of what was written at earlier depths, as
// DenseFormer, MUDD and attention residuals do: who reads which layer.
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
	Of      []int    // the sources' numbers
	// Weights is the hook of [T, readers * sources], or the same for all tokens, all of a reader
	// together; "" where there is one source, which is read as it is.
	Weights string
	// Softmax tells that a reader's weights are above 0 and add up to 1.
	Softmax bool
}

// weightsHook ends the hooks of weights.
const weightsHook = ".weights"

// blockSources are the embedding and the blocks' outputs.
func blockSources(layers int) []string {
	sources := []string{"embedding"}
	for block := range layers {
		sources = append(sources, blockName(block))
	}
	return sources
}

// blockReader names what reads a block's output: the next of layers blocks, or the unembedding.
func blockReader(block, layers int) string {
	if block == layers-1 {
		return Unembedding
	}
	return blockName(block + 1)
}

// blocksPrefix begins the names of everything in a block.
const blocksPrefix = "blocks."

// blockName is "blocks.3".
func blockName(block int) string { return fmt.Sprint(blocksPrefix, block) }
