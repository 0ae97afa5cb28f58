// Package optim updates the parameters of a graph.Store. An Optimizer is composed of parts, as in
// optax: clipping, learning rates, weight decay, and the rule that turns a gradient into an update
// (AdamW, SGD, Muon), which each Group of parameters may choose for itself. The parts fill a table
// with a row for each parameter; a step executes the table, rule by rule.
package optim
