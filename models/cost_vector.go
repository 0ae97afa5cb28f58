package models

import "github.com/residua-go/residua/graph"

// costs are what a part of a model takes.
type costs struct{ parameters, flops, activations int }

func (a costs) plus(b costs) costs {
	return costs{a.parameters + b.parameters, a.flops + b.flops, a.activations + b.activations}
}

func (a costs) times(n int) costs {
	return costs{n * a.parameters, n * a.flops, n * a.activations}
}

// linearCost is a linear map: its parameters and FLOPs, nothing that is kept.
func linearCost(in, out int, bias bool) costs {
	c := costs{parameters: in * out, flops: 2 * in * out}
	if bias {
		c.parameters += out
	}
	return c
}

// normCost is a norm of n entries whose result is kept.
func (c Config) normCost(n int) costs {
	cost := costs{parameters: n, activations: n}
	if c.Bias {
		cost.parameters += n
	}
	return cost
}

// kept are activations alone.
func kept(n int) costs { return costs{activations: n} }

// vectorCost is that of every stream of vectors: tables, blocks, and what the stream adds.
func (c Config) vectorCost() Cost {
	tables := c.tables()
	total := costs{parameters: tables, flops: 2 * c.DModel * c.Vocab}
	total = total.plus(c.blockCost().times(c.Layers)).plus(c.streamCost())
	return Cost{
		Parameters:      total.parameters,
		Embedding:       tables,
		ForwardFLOPs:    total.flops,
		StreamSize:      c.StreamSize(),
		ActivationBytes: float32Bytes * total.activations,
	}
}

// headsCost is an attention's maps around it and the attention itself: it keeps q, k, v and
// the heads' output.
func (c Config) headsCost() costs {
	w := c.HeadCount() * c.HeadDim()
	return linearCost(c.DModel, 3*w, c.Bias).plus(linearCost(w, c.DModel, c.Bias)).plus(costs{flops: c.attentionFLOPs(), activations: 4 * w})
}

// blockCost is a block's, with its norms but without its stream.
func (c Config) blockCost() costs {
	if c.Stream == StreamDWLSTM {
		return c.headsCost()
	}
	return c.headsCost().plus(c.normCost(c.DModel).times(2)).plus(c.feedForwardCost(c.DModel))
}

// feedForwardCost is that of a dense feed-forward of the given width, which keeps its
// hidden layer before and after GELU, or of a mixture of experts.
func (c Config) feedForwardCost(width int) costs {
	dense := linearCost(width, c.FF, c.Bias).plus(linearCost(c.FF, width, c.Bias)).plus(kept(2 * c.FF))
	if c.Experts == 0 {
		return dense
	}
	experts := costs{c.Experts * dense.parameters, c.TopK * dense.flops, c.TopK * dense.activations}
	return experts.plus(linearCost(width, c.Experts, false)).plus(kept(c.Experts + c.TopK)) // the router's logits, the gates
}

// streamCost is what a stream has beside its blocks.
func (c Config) streamCost() costs {
	d, l := c.DModel, c.Layers
	last := c.normCost(d)
	last.activations = 0 // the loss's own pass uses the features
	switch c.Stream {
	case StreamHighway:
		unit := linearCost(d, 2*d, c.Bias).plus(kept(2 * d)) // the unit before its gate
		return last.plus(kept(d)).plus(unit.plus(kept(d)).times(2 * l))
	case StreamHierAgg:
		return c.aggregateCost()
	case StreamDWLSTM:
		return last.plus(kept(d)).plus(c.cellCost().times(l))
	case StreamHyper, StreamMHC, StreamMHCLite, StreamVWN:
		return c.multiCost()
	}
	return last.plus(kept(d)).plus(kept(d).times(2 * l))
}

// aggregateCost is hierarchical aggregation's: one set of parameters, used by each pair of
// blocks, or one each, of which the first has two inputs instead of three. The last one's
// norm is the final norm.
func (c Config) aggregateCost() costs {
	d, pairs := c.DModel, c.Layers/2
	node := func(inputs int) costs {
		n := linearCost(inputs*d, c.Inner, c.Bias).plus(linearCost(c.Inner, d, c.Bias)).plus(c.normCost(d))
		n.activations = (inputs+1)*d + c.Inner // the joined inputs, the sigmoid, the sum before the norm
		return n
	}
	total := node(3).times(pairs)
	if c.SeparateAggregates {
		total = node(2).plus(node(3).times(pairs - 1))
	} else {
		total.parameters = node(3).parameters
	}
	return total.plus(kept(d).times(2 * c.Layers)) // h at each site
}

// cellCost is a block of the depth-wise LSTM: three gates and the candidate.
func (c Config) cellCost() costs {
	d, inner := c.DModel, lstmInner*c.DModel
	gate := linearCost(2*d, d, true).plus(costs{parameters: d, activations: 2 * d}) // before and after the norm
	candidate := linearCost(2*d, inner, false).plus(c.normCost(inner)).plus(linearCost(inner, d, c.Bias)).plus(kept(2*inner + d))
	return gate.times(3).plus(candidate).plus(kept(2*d + 2*d)) // [a; h], c and h
}

// multiCost is that of n rows of d entries that are read, written and mixed at each site.
func (c Config) multiCost() costs {
	last := c.normCost(c.DModel)
	last.activations = c.DModel // what it normalises
	total := last.plus(c.mixCost().plus(c.coefficientsCost()).times(2 * c.Layers))
	if c.Stream != StreamVWN {
		return total
	}
	wide, d := c.StreamSize(), c.DModel
	total = total.plus(linearCost(wide, d, false)).plus(kept(wide)) // reduce and its input
	if c.N%c.M == 0 {
		total = total.plus(costs{parameters: wide, activations: wide}) // the groups' norm
	}
	if c.ExpandEmbedding {
		total = total.plus(linearCost(d, wide, false)).plus(kept(d))
	}
	return total
}

// mixCost is the mixing at a site, which keeps the stream, what is read and what is written.
func (c Config) mixCost() costs {
	n, m, wide := c.N, max(1, c.M), c.StreamSize()
	return costs{flops: 2*m*wide + 2*(n+m)*wide, activations: wide + 2*c.DModel}
}

// coefficientsCost is what makes a site's coefficients; those that depend on the stream are
// kept, and their product before it is made into coefficients.
func (c Config) coefficientsCost() costs {
	n, d, wide := c.N, c.DModel, c.StreamSize()
	switch c.Stream {
	case StreamHyper:
		k := n + 2
		if !c.Dynamic {
			return costs{parameters: n * k}
		}
		return costs{parameters: n*k + d + d*k + 2, flops: 2 * wide * k, activations: 2 * n * k}
	case StreamVWN:
		k, slot := 2*c.M+n, d/c.M
		return costs{parameters: 2*n*k + slot + slot*k, flops: 2 * wide * k, activations: 2 * n * k}
	}
	k := 2*n + n*n
	if c.Stream == StreamMHCLite {
		k = 2*n + graph.Permutations(n)
	}
	return costs{parameters: wide*k + k + 3, flops: 2 * wide * k, activations: k + n*(n+2)}
}
