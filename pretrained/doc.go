// Package pretrained opens trained models: ours from a run folder, a step folder or one file, and
// models that other programs wrote and one of Importers reads, such as a GPT-2 saved by Hugging
// Face's transformers. A Model generates text, and can be scored on its run's validation split or
// on any text.
//
//	m, err := pretrained.Open("runs/quickstart")
//	score, err := m.Evaluate(ctx, pretrained.EvaluateOptions{})
//	text, err := m.Generate(ctx, "func ", generate.Request{Tokens: 50})
//
// Save writes a model that your own program has trained. Model.Export writes a model in a format of
// other programs, by one of Exporters.
package pretrained
