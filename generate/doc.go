// Package generate continues texts with a trained model. Its programs over the model's Store keep
// the keys and values of earlier tokens, so that each token costs one pass, however long the text
// before it. A prompt is read many tokens a pass, and one pass generates the next token of several
// texts.
//
// New makes a Generator from a model that pretrained.Open has read, or from a Store that is being
// trained; Generate answers a Request. The example trains, saves and opens a model, and generates
// with it.
package generate
