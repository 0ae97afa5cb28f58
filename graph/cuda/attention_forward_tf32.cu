// The forward pass of attention over floats on tensor cores, for heads of up to the number in a kernel's name.
// A block's tiles are those that graph/ops/attention/attention_tiles_cuda.go knows of: D, M (64 M queries), keys, stages, blocks.
#include "attention_forward.cuh"

ATTENTION_FORWARD(attention_32_tf32, Tf32, 32, 2, 64, 2, 1)
ATTENTION_FORWARD(attention_64_tf32, Tf32, 64, 2, 32, 2, 1)
ATTENTION_FORWARD(attention_96_tf32, Tf32, 96, 1, 32, 2, 1)
ATTENTION_FORWARD(attention_128_tf32, Tf32, 128, 1, 16, 2, 1)
ATTENTION_FORWARD(attention_256_tf32, Tf32, 256, 1, 16, 1, 1)
