// Package cu binds the CUDA driver at run time: it opens libcuda.so.1 by dlopen, so that
// neither a CUDA toolkit nor its headers are needed to build, and a machine without a GPU
// gets an error instead of a program that won't start.
//
// The module stands in for gorgonia.org/cu, whose name it bears: it has what Gorgonia
// v0.9.18 uses of it under the build tag cuda, and beyond that what Residua's device needs
// (streams, events, launches that allocate nothing, the compiler's log). A program that
// embeds Residua under that tag names this folder in a go.work or replace line of its own.
//
// # Where the driver is looked for
//
// The library that the environment variable RESIDUA_CUDA_DRIVER names, else libcuda.so.1
// where the dynamic loader finds it. It is opened at the first call that needs it. It must
// offer CUDA 12.1, and a GPU must be of compute capability 8.0, or newer.
//
// # Contexts and threads
//
// CUDA keeps a current context for each thread of the operating system, and goroutines move
// between threads. [CUContext.Lock] pins the goroutine and makes the context current; what
// is called often ([LaunchRaw], the asynchronous copies, [Event.Record]) expects that its
// caller did this. What is called now and then (allocation, modules, streams) looks after
// itself: on a thread without a context it uses the one that was made current last.
//
// All contexts are the device's primary one, counted by the driver: one machine's Close
// leaves the others alive, and cuBLAS shares their memory.
package cu
