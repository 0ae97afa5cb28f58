// Package eval scores text with a model: the mean cross-entropy of its tokens, perplexity and bits per byte.
//
// Evaluate scores a Text once, and a Tally parts its losses by position, token and document. An Evaluator keeps its compiled
// program, for whoever scores again and again while the weights change, as training does. Likelihoods is the likelihood of
// continuations after contexts, which package tasks is built upon. Package pretrained opens models and loads texts for them.
package eval
