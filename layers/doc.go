// Package layers holds a language model's blocks with parameters, built from the ops in
// graph/ops: attention, feed-forward, norm, embedding, unembedding. A block works on features
// or heads and does not depend on the residual stream around it.
package layers
