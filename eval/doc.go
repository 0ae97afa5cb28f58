// Package eval scores text with a model: the mean cross-entropy of its tokens, perplexity and bits
// per byte.
//
// Evaluate scores a Text once, and a Tally breaks its losses down by position, token and document.
// An Evaluator keeps its compiled program, to score repeatedly while the weights change, as
// training does. Likelihoods computes the likelihood of continuations of contexts, on which package
// tasks is built. Package pretrained opens models and loads texts for them.
package eval
