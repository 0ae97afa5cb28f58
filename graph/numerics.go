package graph

// Numerics is the version of the CPU kernels' arithmetic. It increases when their float32 results
// change, even if only by rounding, so that a run resumed by another version can report it. Version
// 1: sums over tokens do not depend on the number of threads. Version 2: the gradient of a bias is
// summed as a tree, like those of other weights.
const Numerics = 2
