// Package eval scores text with a trained model: the run's own validation split, as the
// run evaluates it, or any other text from its first token to its last.
package eval
