// Package generate continues texts with a trained model, one token at a time: a program
// of one token a row over the model's Store keeps the keys and values of earlier tokens,
// so that a token costs one pass however long the text before it.
//
// New makes a Generator of a model that pretrained.Open has read, or of a Store that is
// being trained; Generate takes a Request. The example trains, saves and opens a model, and generates with it.
package generate
