// Package eval scores text with a model: the mean cross-entropy of its tokens, perplexity and bits per byte.
//
// Evaluate scores a Text once. An Evaluator keeps its compiled program, for whoever scores again and again while the
// weights change, as training does. Package pretrained opens models and loads texts for them.
package eval
