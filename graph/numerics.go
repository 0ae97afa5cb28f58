package graph

// Numerics numbers the arithmetic of the CPU's kernels: it grows when their float32 results change,
// if only by rounding, so that a run that is resumed by another version can say so. 1: sums over
// tokens do not depend on the number of threads.
const Numerics = 1
