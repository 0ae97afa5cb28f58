// Package explore shows in a browser what a language model does, live. On its page one types a
// prompt and sees each token's probability and alternatives, who wrote a token's logit, what heads
// attend to, the lens by layer, and what each site reads; and how all of that changes if a head, a
// neuron or a row of the stream is switched off or steered.
//
//	GET  /                   the page
//	GET  /explorer/model     Description: the model, and what of it can be changed
//	POST /explorer/run       Run: tokens with their probabilities, as lines of JSON while they come
//	POST /explorer/token     Look: one token's logit, lens, attention and wiring, as Views
//	POST /explorer/attention Look: one layer's attention patterns, as a figure
//	GET  /explorer/analyses  []Listed: the analyses that the model has, with their settings
//	POST /explorer/analyses/NAME a report.Analysis: Analysed, what it found
//
// New makes the Explorer, an http.Handler, for a model that package pretrained has opened. A
// request's changes affect its own runs alone. An error is {"error": {"message": "..."}}.
// docs/explorer.md describes the API.
package explore
