// Package analysis takes the residual stream of a trained model apart: who wrote to it, who reads
// what was written, and which geometry the stream has. Every analysis is a function whose result
// has a Table and Figures. They work on a cache.Cache, one run of a model with its named
// activations, or on a Store, its weights alone.
package analysis
