// Package trainer runs a training described by a config. It trains a learner.Learner on the corpus
// and keeps metrics, validation scores and checkpoints in a folder, from which the run can be
// resumed. The same seed, config and data give the same bits, resumed or not, on processors of one
// kind and with one number of threads.
package trainer
