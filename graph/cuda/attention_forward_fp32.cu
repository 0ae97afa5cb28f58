// The forward pass of attention over floats without tensor cores, for heads of up to the number in a kernel's name.
// A block's tiles are those that graph/attention_tiles_cuda.go knows of: D, M (64 M queries), keys.
#include "attention_forward.cuh"

ATTENTION_FORWARD(attention_64_fp32, F32, 64, 2, 64)
ATTENTION_FORWARD(attention_128_fp32, F32, 128, 1, 32)
ATTENTION_FORWARD(attention_256_fp32, F32, 256, 1, 16)
