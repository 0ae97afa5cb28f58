// graph.NormRead in bfloat16 for the sizes of the RMT presets (see normread.cu for others): y_t = keys N(X_t), a token a warp.
#include "normread_tokens.cuh"

template <int DK, int DV>
DEVICE void read_tokens(TokenReader<DK, DV>& reader, const bf16* x, const float* gain, const float* keys, i64 tokens) {
  DYNAMIC_SHARED(float4, memory);
  TokenRing<DK, DV, 0> ring;
  ring.x = x, ring.y = nullptr, ring.tokens = tokens, ring.m = 0;
  ring.start(reader.use_shared(memory));
  reader.keep_parameters(gain, keys);
  for (; ring.more(); ring.next()) reader.read(ring.take(), ring.token);
}

// BLOCKS are how many a multiprocessor is to hold.
#define NORMREAD_TOKENS(DK, DV, BLOCKS)                                                                                              \
  KERNEL(32 * TOKEN_WARPS, BLOCKS)                                                                                                   \
  normread_forward_##DK##x##DV##_bf16(bf16* y, const bf16* x, const float* gain, const float* keys, float* mean, float* rstd,        \
                                      i64 tokens, int m, int rms, float eps) {                                                       \
    TokenReader<DK, DV> r;                                                                                                           \
    r.y = y, r.mean = mean, r.rstd = rstd, r.m = m, r.rms = rms, r.eps = eps;                                                        \
    read_tokens(r, x, gain, keys, tokens);                                                                                           \
  }

NORMREAD_TOKENS(32, 32, 4)
NORMREAD_TOKENS(32, 64, 4)
NORMREAD_TOKENS(48, 64, 3)
NORMREAD_TOKENS(64, 64, 2)
