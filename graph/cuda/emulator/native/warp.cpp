// The operations of a warp: the last lane to come executes them for all.
#include <string.h>

#include "emulator.h"

namespace emulator {
namespace {

template <typename F>
void for_lanes(uint32_t mask, F f) {
  for (; mask != 0; mask &= mask - 1) f(__builtin_ctz(mask));
}

struct Shuffle : Exchange {
  uint64_t bits, result;
  int from;
};

// A lane that does not take part has nothing to give: its reader gets NaN.
void execute_shuffle(Exchange *const lanes[32], uint32_t mask) {
  for_lanes(mask, [=](int i) {
    Shuffle *own = static_cast<Shuffle *>(lanes[i]);
    bool there = own->from >= 0 && own->from < 32 && (mask >> own->from & 1) != 0;
    own->result = there ? static_cast<Shuffle *>(lanes[own->from])->bits : ~0ull;
  });
}

struct Vote : Exchange {
  bool predicate;
  uint32_t result;
};

void execute_ballot(Exchange *const lanes[32], uint32_t mask) {
  uint32_t votes = 0;
  for_lanes(mask, [&](int i) { votes |= static_cast<uint32_t>(static_cast<Vote *>(lanes[i])->predicate) << i; });
  for_lanes(mask, [=](int i) { static_cast<Vote *>(lanes[i])->result = votes; });
}

void execute_match(Exchange *const lanes[32], uint32_t mask) {
  for_lanes(mask, [=](int i) {
    Shuffle *own = static_cast<Shuffle *>(lanes[i]);
    own->result = 0;
    for_lanes(mask, [=](int j) { own->result |= static_cast<uint64_t>(static_cast<Shuffle *>(lanes[j])->bits == own->bits) << j; });
  });
}

// A Reduction goes through the same tree as five shuffles by 16, 8, 4, 2, 1, so that its bits are those of the device.
struct Reduction : Exchange {
  float x;
};

template <typename F>
void reduce(Exchange *const lanes[32], F combine) {
  float x[32], y[32];
  for (int i = 0; i < 32; i++) x[i] = static_cast<Reduction *>(lanes[i])->x;
  for (int step = 16; step > 0; step >>= 1) {
    for (int i = 0; i < 32; i++) y[i] = combine(x[i], x[i ^ step]);
    memcpy(x, y, sizeof x);
  }
  for (int i = 0; i < 32; i++) static_cast<Reduction *>(lanes[i])->x = x[i];
}

void execute_sum(Exchange *const lanes[32], uint32_t) {
  reduce(lanes, [](float a, float b) { return a + b; });
}

void execute_max(Exchange *const lanes[32], uint32_t) {
  reduce(lanes, [](float a, float b) { return fmaxf(a, b); });
}

void execute_nothing(Exchange *const[32], uint32_t) {}

// ---- matrix multiply-accumulate: C [16, 8] += A [16, K] B [K, 8] ----

struct Product : Exchange {
  float *c;
  const uint32_t *a, *b;
};

float upper(uint32_t pair) { return bits_as<float>(pair & 0xffff0000u); }
float lower(uint32_t pair) { return bits_as<float>(pair << 16); }
float as_tf32(uint32_t bits) { return bits_as<float>(bits & ~0x1fffu); }  // the hardware takes no more bits than these

template <int K>
struct Tile {
  float a[16][K], b[K][8];

  // accumulate adds the product to the lanes' parts of C: C[group + 8 (i / 2), 2t + i % 2] is c[i].
  void accumulate(Exchange *const lanes[32]) const {
    float c[16][8] = {};
    for (int row = 0; row < 16; row++)
      for (int k = 0; k < K; k++)
        for (int column = 0; column < 8; column++) c[row][column] += a[row][k] * b[k][column];
    for (int lane = 0; lane < 32; lane++) {
      int group = lane / 4, t = lane % 4;
      float *out = static_cast<Product *>(lanes[lane])->c;
      for (int i = 0; i < 4; i++) out[i] += c[group + 8 * (i / 2)][2 * t + i % 2];
    }
  }
};

void execute_mma_bf16(Exchange *const lanes[32], uint32_t) {
  Tile<16> tile;
  for (int lane = 0; lane < 32; lane++) {
    const Product *p = static_cast<Product *>(lanes[lane]);
    int group = lane / 4, t = lane % 4;
    for (int i = 0; i < 4; i++) {
      float *row = tile.a[group + 8 * (i % 2)] + 2 * t + 8 * (i / 2);
      row[0] = lower(p->a[i]);
      row[1] = upper(p->a[i]);
    }
    for (int i = 0; i < 2; i++) {
      tile.b[2 * t + 8 * i][group] = lower(p->b[i]);
      tile.b[2 * t + 8 * i + 1][group] = upper(p->b[i]);
    }
  }
  tile.accumulate(lanes);
}

void execute_mma_tf32(Exchange *const lanes[32], uint32_t) {
  Tile<8> tile;
  for (int lane = 0; lane < 32; lane++) {
    const Product *p = static_cast<Product *>(lanes[lane]);
    int group = lane / 4, t = lane % 4;
    for (int i = 0; i < 4; i++) tile.a[group + 8 * (i % 2)][t + 4 * (i / 2)] = as_tf32(p->a[i]);
    for (int i = 0; i < 2; i++) tile.b[t + 4 * i][group] = as_tf32(p->b[i]);
  }
  tile.accumulate(lanes);
}

// ---- ldmatrix ----

struct MatrixLoad : Exchange {
  uint32_t *r;
  const unsigned short *row;
  bool transposed;
};

// element is M[row, column] of matrix i, whose rows' addresses the lanes 8i..8i+7 brought.
uint32_t element(Exchange *const lanes[32], int i, int row, int column) {
  return static_cast<MatrixLoad *>(lanes[8 * i + row])->row[column];
}

void execute_ldmatrix(Exchange *const lanes[32], uint32_t) {
  for (int lane = 0; lane < 32; lane++) {
    MatrixLoad *own = static_cast<MatrixLoad *>(lanes[lane]);
    int outer = lane / 4, pair = 2 * (lane % 4);
    for (int i = 0; i < 4; i++) {
      own->r[i] = own->transposed ? element(lanes, i, pair, outer) | element(lanes, i, pair + 1, outer) << 16
                                  : element(lanes, i, outer, pair) | element(lanes, i, outer, pair + 1) << 16;
    }
  }
}

template <typename T>
T begin(const char *name, uint32_t mask, void (*execute)(Exchange *const[32], uint32_t)) {
  T call;
  call.name = name;
  call.mask = mask;
  call.execute = execute;
  return call;
}

}  // namespace

uint64_t shuffle(uint32_t mask, uint64_t bits, int from) {
  Shuffle call = begin<Shuffle>("a shuffle", mask, execute_shuffle);
  call.bits = bits;
  call.from = from;
  exchange(&call);
  return call.result;
}

uint32_t match(uint32_t mask, uint64_t bits) {
  Shuffle call = begin<Shuffle>("__match_any_sync", mask, execute_match);
  call.bits = bits;
  exchange(&call);
  return static_cast<uint32_t>(call.result);
}

uint32_t ballot(uint32_t mask, bool predicate) {
  Vote call = begin<Vote>("a vote", mask, execute_ballot);
  call.predicate = predicate;
  exchange(&call);
  return call.result;
}

void sync_warp(uint32_t mask) {
  Exchange call = begin<Exchange>("__syncwarp", mask, execute_nothing);
  exchange(&call);
}

namespace {
float reduced(const char *name, void (*execute)(Exchange *const[32], uint32_t), float x) {
  need_whole_warp(name);
  Reduction call = begin<Reduction>(name, ~0u, execute);
  call.x = x;
  exchange(&call);
  return call.x;
}

void multiply(const char *name, void (*execute)(Exchange *const[32], uint32_t), float c[4], const uint32_t a[4], const uint32_t b[2]) {
  need_whole_warp(name);
  Product call = begin<Product>(name, ~0u, execute);
  call.c = c;
  call.a = a;
  call.b = b;
  exchange(&call);
}
}  // namespace

float warp_sum(float x) { return reduced("warp_sum", execute_sum, x); }
float warp_max(float x) { return reduced("warp_max", execute_max, x); }

void mma_bf16(float c[4], const uint32_t a[4], const uint32_t b[2]) { multiply("mma_bf16", execute_mma_bf16, c, a, b); }
void mma_tf32(float c[4], const uint32_t a[4], const uint32_t b[2]) { multiply("mma_tf32", execute_mma_tf32, c, a, b); }

void ldmatrix4(uint32_t r[4], const void *row, bool transposed) {
  const char *name = transposed ? "ldmatrix4_transposed" : "ldmatrix4";
  need_whole_warp(name);
  need_aligned(name, row, 16);
  MatrixLoad call = begin<MatrixLoad>(name, ~0u, execute_ldmatrix);
  call.r = r;
  call.row = static_cast<const unsigned short *>(row);
  call.transposed = transposed;
  exchange(&call);
}

}  // namespace emulator
