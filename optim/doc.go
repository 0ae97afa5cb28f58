// Package optim updates the parameters of a graph.Store. An Optimizer is composed of
// parts, as in optax: clipping, Adam's moments, weight decay, learning rates. The parts
// fill a table, one row a parameter, that a step executes in one pass over each
// parameter; the table is all that another backend needs.
package optim
