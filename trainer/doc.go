// Package trainer is the run: it compiles a model into a training program and an
// evaluation program over one Store, steps, evaluates, writes metrics and checkpoints,
// and resumes. OpenModel reads a trained model back, SaveModel writes one that another
// program has trained.
package trainer
