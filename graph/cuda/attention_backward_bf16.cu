// The backward pass of attention over bfloat16 on tensor cores, for heads of up to the number in a kernel's name.
// A block's tiles are those that graph/ops/attention/attention_tiles_cuda.go knows of: D, M, warps that share 16 M rows, columns,
// stages, blocks.
#include "attention_backward.cuh"

ATTENTION_BACKWARD_KEYS(attention_keys_32_bf16, Bf16, 32, 2, 1, 32, 2, 1)
ATTENTION_BACKWARD_KEYS(attention_keys_64_bf16, Bf16, 64, 2, 1, 32, 2, 1)
ATTENTION_BACKWARD_KEYS(attention_keys_96_bf16, Bf16, 96, 1, 1, 32, 2, 1)
ATTENTION_BACKWARD_KEYS(attention_keys_128_bf16, Bf16, 128, 1, 1, 32, 2, 1)
ATTENTION_BACKWARD_KEYS(attention_keys_256_bf16, Bf16, 256, 1, 2, 32, 1, 1)

ATTENTION_BACKWARD_QUERIES(attention_queries_32_bf16, Bf16, 32, 2, 1, 32, 2, 1)
ATTENTION_BACKWARD_QUERIES(attention_queries_64_bf16, Bf16, 64, 2, 1, 32, 2, 3)
ATTENTION_BACKWARD_QUERIES(attention_queries_96_bf16, Bf16, 96, 1, 1, 32, 2, 1)
ATTENTION_BACKWARD_QUERIES(attention_queries_128_bf16, Bf16, 128, 1, 1, 32, 2, 1)
ATTENTION_BACKWARD_QUERIES(attention_queries_256_bf16, Bf16, 256, 1, 2, 32, 1, 1)
