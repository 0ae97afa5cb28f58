// Package pretrained opens trained models: ours from a run folder, a step folder or one file, and GPT-2, Llama and
// Qwen3 as Hugging Face's transformers saves them. A Model generates text, and is scored on its run's validation split
// or on any text.
//
//	m, err := pretrained.Open("runs/quickstart")
//	score, err := m.Evaluate(ctx, pretrained.EvaluateOptions{})
//	text, err := m.Generate(ctx, "func ", generate.Request{Tokens: 50})
//
// Save writes a model that a program of one's own has trained. ExportHuggingFace, ExportGGUF and ExportRMT write a model as
// other programs read it.
package pretrained
