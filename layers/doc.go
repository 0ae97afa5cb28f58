// Package layers holds the parameterised blocks of a language model over the ops of package graph:
// attention, feed-forward, norm, embedding, unembedding. A block works on features or heads and
// does not depend on the residual stream around it.
package layers
