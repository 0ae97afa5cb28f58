// Package explore answers a browser with what a language model does, live: a page where one types a
// prompt and sees each token's probability and alternatives, who wrote a token's logit, what heads
// attend to, the lens by layer, what each site reads; and what becomes of all that when a head, a
// neuron, a row of the stream is switched off or steered.
//
//	GET  /                   the page
//	GET  /explorer/model     Description: the model, and what of it can be changed
//	POST /explorer/run       Run: tokens with their probabilities, as lines of JSON while they come
//	POST /explorer/token     Look: one token's logit, lens, attention and wiring, as Views
//	POST /explorer/attention Look: one layer's attention patterns, as a figure
//	GET  /explorer/analyses  []Listed: the analyses that the model has, with their settings
//	POST /explorer/analyses/NAME a report.Analysis: Analysed, what it found
//
// New makes the Explorer, an http.Handler, of a model that package pretrained has opened. What a
// request changes holds for its own runs alone. An error is {"error": {"message": "..."}}.
// docs/explorer.md has the API.
package explore
