// Package generate continues texts with a trained model. Programs over the model's Store keep the keys and
// values of earlier tokens, so that a token costs one pass however long the text before it; a prompt is read many
// tokens a pass, and several texts get their next tokens in one.
//
// New makes a Generator of a model that pretrained.Open has read, or of a Store that is
// being trained; Generate takes a Request. The example trains, saves and opens a model, and generates with it.
package generate
