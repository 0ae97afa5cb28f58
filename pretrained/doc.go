// Package pretrained opens trained models: ours from a run folder, a step folder or one file, and those of other
// programs that one of Importers reads, such as a GPT-2 as Hugging Face's transformers saves it. A Model generates text, and is scored on its run's validation split
// or on any text.
//
//	m, err := pretrained.Open("runs/quickstart")
//	score, err := m.Evaluate(ctx, pretrained.EvaluateOptions{})
//	text, err := m.Generate(ctx, "func ", generate.Request{Tokens: 50})
//
// Save writes a model that a program of one's own has trained. Model.Export writes a model as
// other programs read it, by one of Exporters.
package pretrained
