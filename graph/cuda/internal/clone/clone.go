// Package clone makes a build with the tag cuda succeed only in a clone of Residua, by embedding a
// file that a module's zip leaves out. Gorgonia's CUDA code imports gorgonia.org/cu, which go.work
// replaces by our binding. `go install` of a released version ignores go.work and would fail later
// because NVIDIA's headers are missing, with an error that does not say what to do.
package clone
