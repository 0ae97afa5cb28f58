package stream

// DepthReader is a stream that reads weighted sums of what was written at earlier depths, as
// DenseFormer, MUDD and attention residuals do: who reads which layer.
type DepthReader interface {
	Stream
	// DepthReads names all sources, in the order in which they are made, and lists the sums in the
	// order of the run.
	DepthReads() (sources []string, reads []DepthRead)
}

// DepthRead is one place where such a stream reads. It makes a sum of the same sources for each of
// its ways, with weights of each token's own that the run gives, or with learned ones.
type DepthRead struct {
	Name string   // of the site, "blocks.3.attention", or of the block, "blocks.3"
	Ways []string // such as q, k, v and r; none: there is one sum
	// Of are the sources' numbers.
	Of []int
	// Weights is the hook of [T, ways * sources], all of a way together; "" where Parameter has
	// them, [ways * sources]. Without either all weights are 1.
	Weights, Parameter string
}
