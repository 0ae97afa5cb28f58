// What tokens have of their chosen experts, laid out over all experts and taken back. Four columns a thread in blocks of 256.
// chosen is [tokens, top, width], terms [tokens, experts, width]; choices [tokens, top] are the experts' numbers.
#include "vector.cuh"

// moe_spread computes terms_te = chosen_ti where e is the i-th choice of t, 0 where e is none of them.
template <typename A>
DEVICE void moe_spread(A* terms, const A* chosen, const int* choices, int tokens, int top, int experts, int width) {
  Quad q = quad_of(tokens * experts, width);
  if (q.count <= 0) return;
  i64 token = q.row / experts;
  int expert = static_cast<int>(q.row % experts);
  float v[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  for (i64 row = token * top; row < (token + 1) * top; row++)
    if (choices[row] == expert) read4(chosen + row * width + q.column, q.count, v);
  write4(terms + q.row * width + q.column, q.count, v);
}

// moe_gather computes chosen_ti = terms_te where e is the i-th choice of t.
template <typename A>
DEVICE void moe_gather(A* chosen, const A* terms, const int* choices, int tokens, int top, int experts, int width) {
  Quad q = quad_of(tokens * top, width);
  if (q.count <= 0) return;
  float v[4];
  read4(terms + (q.row / top * experts + choices[q.row]) * width + q.column, q.count, v);
  write4(chosen + q.row * width + q.column, q.count, v);
}

KERNEL(256) moe_spread_f32(float* terms, const float* chosen, const int* choices, int tokens, int top, int experts, int width) {
  moe_spread(terms, chosen, choices, tokens, top, experts, width);
}
KERNEL(256) moe_spread_bf16(bf16* terms, const bf16* chosen, const int* choices, int tokens, int top, int experts, int width) {
  moe_spread(terms, chosen, choices, tokens, top, experts, width);
}
KERNEL(256) moe_gather_f32(float* chosen, const float* terms, const int* choices, int tokens, int top, int experts, int width) {
  moe_gather(chosen, terms, choices, tokens, top, experts, width);
}
KERNEL(256) moe_gather_bf16(bf16* chosen, const bf16* terms, const int* choices, int tokens, int top, int experts, int width) {
  moe_gather(chosen, terms, choices, tokens, top, experts, width);
}
