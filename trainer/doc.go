// Package trainer makes a training run of a config: a learner.Learner over the corpus, with a folder that
// keeps metrics, scores on validation text and checkpoints, and from which the run resumes. The same seed,
// config and data give the same bits, resumed or not, on processors of one kind and with one number of
// threads.
package trainer
