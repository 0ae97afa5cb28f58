// The forward pass of attention over floats without tensor cores, for heads of up to the number in a kernel's name.
// A block's tiles are those that graph/ops/attention/attention_tiles_cuda.go knows of: D, M (64 M queries), keys, stages, blocks.
#include "attention_forward.cuh"

ATTENTION_FORWARD(attention_64_fp32, F32, 64, 2, 32, 2, 1)
ATTENTION_FORWARD(attention_128_fp32, F32, 128, 1, 16, 2, 1)
ATTENTION_FORWARD(attention_256_fp32, F32, 256, 1, 16, 1, 1)
