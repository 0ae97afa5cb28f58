// Kernels of attention_forward_bf16.cu and attention_backward_bf16.cu with other tiles, which a benchmark compares with those that
// are used: rows of a block, columns of a tile, blocks a multiprocessor.
#include "attention_backward.cuh"
#include "attention_forward.cuh"

ATTENTION_FORWARD(attention_64_128x64x2_bf16, Bf16, 64, 2, 64, 2, 2)
ATTENTION_FORWARD(attention_64_128x32x3_bf16, Bf16, 64, 2, 32, 2, 3)
ATTENTION_FORWARD(attention_64_64x64x4_bf16, Bf16, 64, 1, 64, 2, 4)

ATTENTION_BACKWARD_QUERIES(attention_queries_64_128x32x2_bf16, Bf16, 64, 2, 1, 32, 2, 2)
ATTENTION_BACKWARD_QUERIES(attention_queries_64_128x64x2_bf16, Bf16, 64, 2, 1, 64, 2, 2)
ATTENTION_BACKWARD_QUERIES(attention_queries_64_64x64x3_bf16, Bf16, 64, 1, 1, 64, 2, 3)

ATTENTION_BACKWARD_KEYS(attention_keys_64_64x64x3_bf16, Bf16, 64, 1, 1, 64, 2, 3)
ATTENTION_BACKWARD_KEYS(attention_keys_64_64x32x3_bf16, Bf16, 64, 1, 1, 32, 2, 3)
