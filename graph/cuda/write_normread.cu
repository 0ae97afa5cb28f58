// graph.Write and the graph.NormRead of what it has written, in one pass (write.cu and normread.cu have the equations), in bfloat16
// for the sizes of the RMT presets and at most 16 keys of the write: X'_t = X_t + keys^T v_t, y_t = read_keys N(X'_t), a token a
// warp. X'_t is read from shared memory, where it was made: apart, NormRead would fetch it from global memory again.
#include "normread_tokens.cuh"
#include "write_tokens.cuh"

template <int DK, int DV>
DEVICE void write_and_read(TokenWriter<DK, DV>& writer, TokenReader<DK, DV>& reader, const float* keys, const float* gain,
                           const float* read_keys) {
  DYNAMIC_SHARED(float4, memory);
  writer.ring.start(reader.use_shared(memory));
  writer.keep_keys(keys);
  reader.keep_parameters(gain, read_keys);
  for (; writer.ring.more(); writer.ring.next()) {
    bf16* matrix = writer.ring.take();
    writer.write(matrix);
    reader.read(matrix, writer.ring.token);
  }
}

// write_normread: out [tokens, DK, DV] may be x; v [tokens, m, DV], y [tokens, read_m, DV]. WARPS are a
// block's, BLOCKS are how many a multiprocessor is to hold.
#define WRITE_NORMREAD(DK, DV, WARPS, BLOCKS)                                                                                        \
  KERNEL(32 * WARPS, BLOCKS)                                                                                                         \
  write_normread_##DK##x##DV##_bf16(bf16* out, const bf16* x, const float* keys, const bf16* v, bf16* y, const float* gain,          \
                                    const float* read_keys, float* mean, float* rstd, i64 tokens, int m, int read_m, int rms,        \
                                    float eps) {                                                                                     \
    TokenWriter<DK, DV> w;                                                                                                           \
    w.ring.x = x, w.ring.y = v, w.ring.tokens = tokens, w.ring.m = m, w.out = out;                                                   \
    TokenReader<DK, DV> r;                                                                                                           \
    r.y = y, r.mean = mean, r.rstd = rstd, r.m = read_m, r.rms = rms, r.eps = eps;                                                   \
    write_and_read(w, r, keys, gain, read_keys);                                                                                     \
  }

WRITE_NORMREAD(32, 32, 4, 4)
WRITE_NORMREAD(32, 64, 4, 3)
WRITE_NORMREAD(48, 64, 4, 2)
WRITE_NORMREAD(64, 64, 8, 1)
