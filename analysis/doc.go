// Package analysis takes the residual stream of a trained model apart: what wrote to it,
// who reads that, and what the stream is like as a space. Every analysis is a function whose
// result has a Table and Figures. They work on a cache.Cache, one run of a model with its
// named activations, or on a Store, its weights alone.
package analysis
