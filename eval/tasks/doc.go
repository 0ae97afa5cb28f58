// Package tasks scores models on zero-shot and few-shot language-modelling tasks, as EleutherAI's
// lm-evaluation-harness (lm-eval) does: choices by the likelihood of the answer, the last word of a
// text, the perplexity of whole pages.
//
//	task, err := tasks.Load(ctx, "hellaswag.jsonl", tasks.Options{Format: "hellaswag", Shots: 5})
//	result, err := task.Score(ctx, model.Store, model.Spec, tokenizer, eval.Options{})
//
// A task is a file of JSON objects, one per line, whose fields depend on the format; docs/eval.md
// lists them. The texts, token windows and sums are the same as in lm-eval 0.4.13.
package tasks
