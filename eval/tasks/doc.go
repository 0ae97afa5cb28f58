// Package tasks scores models on tasks of zero- or few-shot language modelling, as EleutherAI's lm-evaluation-harness (lm-eval)
// does: choices by the likelihood of the answer, the last word of a text, the perplexity of whole pages.
//
//	task, err := tasks.Load(ctx, "hellaswag.jsonl", tasks.Options{Format: "hellaswag", Shots: 5})
//	result, err := task.Score(ctx, model.Store, model.Spec, tokenizer, eval.Options{})
//
// A task is a file of JSON objects, one a line, whose fields the format names; docs/eval.md lists them. What a model is asked
// is the texts, token windows and sums of lm-eval 0.4.13.
package tasks
