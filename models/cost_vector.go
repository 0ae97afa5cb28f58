package models

import "github.com/residua-go/residua/graph"

// costs are what a part of a model takes.
type costs struct{ parameters, flops, activations float64 }

func (a costs) plus(b costs) costs {
	return costs{a.parameters + b.parameters, a.flops + b.flops, a.activations + b.activations}
}

func (a costs) times(n float64) costs {
	return costs{n * a.parameters, n * a.flops, n * a.activations}
}

// linearCost is a linear map: its parameters and FLOPs, nothing that is kept.
func linearCost(in, out float64, bias bool) costs {
	c := costs{parameters: in * out, flops: 2 * in * out}
	if bias {
		c.parameters += out
	}
	return c
}

// normCost is a norm of n entries whose result is kept.
func (c Config) normCost(n float64) costs {
	cost := costs{parameters: n, activations: n}
	if c.Bias {
		cost.parameters += n
	}
	return cost
}

// kept are activations alone.
func kept(n float64) costs { return costs{activations: n} }

// vectorCost is that of every stream of vectors: tables, blocks, and what the stream adds.
func (c Config) vectorCost() Cost {
	z := c.sizes()
	total := costs{parameters: c.tables(), flops: 2 * z.d * z.vocab}
	return c.cost(total.plus(c.blockCost().times(z.layers)).plus(c.streamCost()))
}

// headsCost is an attention's maps around it and the attention itself: it keeps q, k, v and
// the heads' output.
func (c Config) headsCost() costs {
	d, w := c.sizes().d, c.sizes().heads
	return linearCost(d, 3*w, c.Bias).plus(linearCost(w, d, c.Bias)).plus(costs{flops: c.attentionFLOPs(), activations: 4 * w})
}

// blockCost is a block's, with its norms but without its stream.
func (c Config) blockCost() costs {
	if c.Stream == StreamDWLSTM {
		return c.headsCost()
	}
	d := c.sizes().d
	return c.headsCost().plus(c.normCost(d).times(2)).plus(c.feedForwardCost(d))
}

// feedForwardCost is that of a dense feed-forward of the given width, which keeps its
// hidden layer before and after GELU, or of a mixture of experts.
func (c Config) feedForwardCost(width float64) costs {
	z := c.sizes()
	dense := linearCost(width, z.ff, c.Bias).plus(linearCost(z.ff, width, c.Bias)).plus(kept(2 * z.ff))
	if c.Experts == 0 {
		return dense
	}
	experts := costs{z.experts * dense.parameters, z.topK * dense.flops, z.topK * dense.activations}
	return experts.plus(linearCost(width, z.experts, false)).plus(kept(z.experts + z.topK)) // the router's logits, the gates
}

// streamCost is what a stream has beside its blocks.
func (c Config) streamCost() costs {
	d, l := c.sizes().d, c.sizes().layers
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
	d, inner, pairs := c.sizes().d, c.sizes().inner, c.sizes().layers/2
	node := func(inputs float64) costs {
		n := linearCost(inputs*d, inner, c.Bias).plus(linearCost(inner, d, c.Bias)).plus(c.normCost(d))
		n.activations = (inputs+1)*d + inner // the joined inputs, the sigmoid, the sum before the norm
		return n
	}
	total := node(3).times(pairs)
	if c.SeparateAggregates {
		total = node(2).plus(node(3).times(pairs - 1))
	} else {
		total.parameters = node(3).parameters
	}
	return total.plus(kept(d).times(4 * pairs)) // h at each site
}

// cellCost is a block of the depth-wise LSTM: three gates and the candidate.
func (c Config) cellCost() costs {
	d, inner := c.sizes().d, lstmInner*c.sizes().d
	gate := linearCost(2*d, d, true).plus(costs{parameters: d, activations: 2 * d}) // before and after the norm
	candidate := linearCost(2*d, inner, false).plus(c.normCost(inner)).plus(linearCost(inner, d, c.Bias)).plus(kept(2*inner + d))
	return gate.times(3).plus(candidate).plus(kept(2*d + 2*d)) // [a; h], c and h
}

// multiCost is that of n rows of d entries that are read, written and mixed at each site.
func (c Config) multiCost() costs {
	z := c.sizes()
	last := c.normCost(z.d)
	last.activations = z.d // what it normalises
	total := last.plus(c.mixCost().plus(c.coefficientsCost()).times(2 * z.layers))
	if c.Stream != StreamVWN {
		return total
	}
	wide, d := z.stream, z.d
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
	z := c.sizes()
	n, m, wide := z.n, max(1, z.m), z.stream
	return costs{flops: 2*m*wide + 2*(n+m)*wide, activations: wide + 2*z.d}
}

// coefficientsCost is what makes a site's coefficients; those that depend on the stream are
// kept, and their product before it is made into coefficients.
func (c Config) coefficientsCost() costs {
	z := c.sizes()
	n, d, wide := z.n, z.d, z.stream
	switch c.Stream {
	case StreamHyper:
		k := n + 2
		if !c.Dynamic {
			return costs{parameters: n * k}
		}
		return costs{parameters: n*k + d + d*k + 2, flops: 2 * wide * k, activations: 2 * n * k}
	case StreamVWN:
		k, slot := 2*z.m+n, d/z.m
		return costs{parameters: 2*n*k + slot + slot*k, flops: 2 * wide * k, activations: 2 * n * k}
	}
	k := 2*n + n*n
	if c.Stream == StreamMHCLite {
		k = 2*n + float64(graph.Permutations(c.N))
	}
	return costs{parameters: wide*k + k + 3, flops: 2 * wide * k, activations: k + n*(n+2)}
}
