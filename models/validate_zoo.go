package models

// The largest n of mHC, and of mHC-lite, which mixes n! permutations.
const (
	maxMHCStreams  = 64
	maxLiteStreams = 4
)

// maxIterations is far more than Sinkhorn's algorithm takes to converge.
const maxIterations = 1000

// checkStreams looks at what only some streams have.
func (c Config) checkStreams() error {
	for _, f := range []struct {
		field   string
		value   int
		streams []string
	}{
		{"n", c.N, []string{StreamHyper, StreamMHC, StreamMHCLite, StreamVWN}},
		{"m", c.M, []string{StreamVWN}},
		{"sinkhorn_iterations", c.SinkhornIterations, []string{StreamMHC}},
		{"inner", c.Inner, []string{StreamHierAgg}},
	} {
		if !contains(f.streams, c.Stream) {
			if err := c.checkForeign([]size{{f.field, f.value}}); err != nil {
				return err
			}
		} else if err := (size{f.field, f.value}).check(); err != nil {
			return err
		}
	}
	for _, f := range []struct {
		field, stream string
		set           bool
	}{{"dynamic", StreamHyper, c.Dynamic}, {"expand_embedding", StreamVWN, c.ExpandEmbedding}, {"separate_aggregates", StreamHierAgg, c.SeparateAggregates}} {
		if f.set && c.Stream != f.stream {
			return fieldError(f.field, "want nothing for the %s stream: it belongs to %s", c.Stream, f.stream)
		}
	}
	return c.checkShapes()
}

// checkShapes looks at how the sizes of one stream fit together.
func (c Config) checkShapes() error {
	switch {
	case c.SinkhornIterations > maxIterations:
		return fieldError("sinkhorn_iterations", "want 1 to %d, got %d", maxIterations, c.SinkhornIterations)
	case c.Stream == StreamMHC && c.N > maxMHCStreams:
		return fieldError("n", "want 1 to %d for the %s stream, got %d", maxMHCStreams, c.Stream, c.N)
	case c.Stream == StreamMHCLite && c.N > maxLiteStreams:
		return fieldError("n", "want 1 to %d for the %s stream, which mixes n! permutations, got %d: take the %s stream", maxLiteStreams, c.Stream, c.N, StreamMHC)
	case c.Stream == StreamVWN && c.DModel%c.M != 0:
		return fieldError("m", "want a divisor of d_model %d, got %d", c.DModel, c.M)
	case c.Stream == StreamVWN && c.N < c.M:
		return fieldError("n", "want at least m %d, the slots that a sublayer reads, got %d", c.M, c.N)
	case c.Stream == StreamHierAgg && c.Layers%2 != 0:
		return fieldError("layers", "want an even number for the %s stream, which aggregates pairs of blocks, got %d", c.Stream, c.Layers)
	case c.TieEmbeddings && c.embeddingWidth() != c.Width():
		return fieldError("tie_embeddings", "want expand_embedding with it for the %s stream, whose embedding is wider than d_model", c.Stream)
	}
	return nil
}

// checkExperts looks at the mixture of experts.
func (c Config) checkExperts() error {
	switch {
	case c.Experts < 0:
		return fieldError("experts", "want >= 1, or 0 for a dense feed-forward, got %d", c.Experts)
	case c.Experts > maxSize:
		return fieldError("experts", "want at most %d, got %d", maxSize, c.Experts)
	case c.Experts == 0 && c.TopK != 0:
		return fieldError("top_k", "want nothing without experts, got %d: set model.experts or remove it", c.TopK)
	case c.Experts == 0 && c.BalanceLoss != 0:
		return fieldError("balance_loss", "want nothing without experts, got %g: set model.experts or remove it", c.BalanceLoss)
	case c.Experts == 0 && c.RouterZLoss != 0:
		return fieldError("router_z_loss", "want nothing without experts, got %g: set model.experts or remove it", c.RouterZLoss)
	case c.Experts > 0 && c.Stream == StreamDWLSTM:
		return fieldError("experts", "want nothing for the %s stream, which has no feed-forward sublayer, got %d", c.Stream, c.Experts)
	case c.Experts > 0 && (c.TopK < 1 || c.TopK > c.Experts):
		return fieldError("top_k", "want 1 to %d, the number of experts, got %d", c.Experts, c.TopK)
	}
	return nil
}
