// Package cache runs a model and keeps its named activations, with the names of their axes,
// and replaces any of them while the model runs: to ablate a head, to patch in what another
// prompt gave, to steer along a direction. The model is the one that is trained; its
// activations are those that pass its hooks (graph.Builder.Hook).
package cache
