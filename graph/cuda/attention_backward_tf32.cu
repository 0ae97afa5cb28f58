// The backward pass of attention over floats on tensor cores, for heads of up to the number in a kernel's name.
// A block's tiles are those that graph/ops/attention/attention_tiles_cuda.go knows of: D, M, warps that share 16 M rows, columns,
// stages, blocks.
#include "attention_backward.cuh"

ATTENTION_BACKWARD_KEYS(attention_keys_32_tf32, Tf32, 32, 2, 1, 32, 2, 1)
ATTENTION_BACKWARD_KEYS(attention_keys_64_tf32, Tf32, 64, 1, 1, 32, 2, 1)
ATTENTION_BACKWARD_KEYS(attention_keys_96_tf32, Tf32, 96, 1, 1, 16, 2, 1)
ATTENTION_BACKWARD_KEYS(attention_keys_128_tf32, Tf32, 128, 1, 1, 16, 1, 1)
ATTENTION_BACKWARD_KEYS(attention_keys_256_tf32, Tf32, 256, 1, 2, 16, 1, 1)

ATTENTION_BACKWARD_QUERIES(attention_queries_32_tf32, Tf32, 32, 2, 1, 32, 2, 1)
ATTENTION_BACKWARD_QUERIES(attention_queries_64_tf32, Tf32, 64, 1, 1, 32, 2, 1)
ATTENTION_BACKWARD_QUERIES(attention_queries_96_tf32, Tf32, 96, 1, 1, 16, 2, 1)
ATTENTION_BACKWARD_QUERIES(attention_queries_128_tf32, Tf32, 128, 1, 1, 16, 1, 1)
ATTENTION_BACKWARD_QUERIES(attention_queries_256_tf32, Tf32, 256, 1, 2, 16, 1, 1)
