// The forward pass of attention over bfloat16 on tensor cores, for heads of up to the number in a kernel's name.
// A block's tiles are those that graph/ops/attention/attention_tiles_cuda.go knows of: D, M (64 M queries), keys, stages, blocks.
#include "attention_forward.cuh"

ATTENTION_FORWARD(attention_32_bf16, Bf16, 32, 2, 64, 2, 2)
ATTENTION_FORWARD(attention_64_bf16, Bf16, 64, 2, 64, 2, 3)
ATTENTION_FORWARD(attention_96_bf16, Bf16, 96, 2, 32, 2, 1)
ATTENTION_FORWARD(attention_128_bf16, Bf16, 128, 2, 32, 2, 1)
ATTENTION_FORWARD(attention_256_bf16, Bf16, 256, 1, 16, 2, 1)
