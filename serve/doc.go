// Package serve answers HTTP requests with language models, in the form of OpenAI's API for
// completions (https://platform.openai.com/docs/api-reference/completions), with the further
// settings of vLLM's server, so that their clients and lm-eval's work unchanged:
//
//	POST /v1/completions               texts that continue prompts, whole or as server-sent events
//	GET  /v1/models, /v1/models/NAME   what is served
//	POST /tokenize, /detokenize        text to token ids and back (vLLM's)
//	GET  /tokenizer_info               the names of the tokens that begin and end a text (vLLM's)
//	GET  /metrics                      counts and times, in Prometheus' text format
//	GET  /healthz                      200 while it serves
//	GET  /readyz                       200 while it works on further completions, else 503
//	GET  /                             a page that says so, or Options.Page
//
// New makes the Server, an http.Handler, of Models; Serve runs it on a listener until a context
// ends. docs/serve.md has the API.
package serve
