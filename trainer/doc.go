// Package trainer is the run: it compiles a model into a training program and an
// evaluation program over one Store, steps, evaluates, writes metrics and checkpoints,
// and resumes. The same seed, config and data give the same bits, also after a resume, on
// the same kind of processor and with the same number of threads. OpenModel reads a trained model back, SaveModel writes one that another
// program has trained.
package trainer
