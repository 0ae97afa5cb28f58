// Package trainer is the run: it compiles a model into a training program and an
// evaluation program over one Store, steps, evaluates, writes metrics and checkpoints,
// and resumes.
package trainer
