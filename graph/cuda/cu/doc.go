// Package cu binds the CUDA driver at run time: it opens libcuda.so.1 by dlopen, so that
// neither a CUDA toolkit nor its headers are needed to build, and a machine without a GPU
// gets an error instead of a program that won't start.
//
// The module replaces gorgonia.org/cu, under the same name: it has the parts of it that Gorgonia
// v0.9.18 uses under the build tag cuda, and in addition what Residua's device needs (streams,
// events, graphs, launches that allocate nothing, the compiler's log). A program that embeds
// Residua under that tag must name this folder in its own go.work or replace line.
//
// # Where the driver is looked for
//
// The driver is the library that the environment variable RESIDUA_CUDA_DRIVER names, otherwise
// libcuda.so.1 where the dynamic loader finds it. It is opened at the first call that needs it. It
// must support CUDA 12.1 or newer, and a GPU must have compute capability 8.0 or newer.
//
// # Contexts and threads
//
// CUDA keeps a current context for each thread of the operating system, and goroutines move between
// threads. [CUContext.Lock] pins the goroutine and makes the context current; functions that are
// called often ([LaunchRaw], the asynchronous copies, [Event.Record]) require that their caller has
// done this. Functions that are called rarely (allocation, modules, streams) need no preparation:
// on a thread without a context they use the one that was made current last.
//
// All contexts are references to the device's primary one, which the driver counts: when one
// machine closes, the others keep working, and cuBLAS shares their memory.
package cu
