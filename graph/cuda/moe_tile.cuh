// The tiles of which the products of a mixture of experts are made. A block of 256 threads
// computes 128 x 128 results, each of its warps 64 x 32 of them, in steps along k; operands
// come to shared memory by way of registers, so that rows can be gathered and rounded as
// they pass. In shared memory an operand is words of 32 bits: a word is one float, or two
// bf16 that are neighbours along k. The fragments of mma.m16n8k8 (TF32) and of
// mma.m16n8k16 (bf16) are then the same words (PTX ISA, "Matrix Fragments for mma.m16n8k8"
// and "for mma.m16n8k16").
#pragma once

#include "prelude.cuh"

// How products are computed: in 32-bit floats, or on tensor cores in TF32 or bfloat16.
struct Fp32 {};
struct Tf32 {};
struct Bf16 {};

constexpr int THREADS = 256;
constexpr int TILE = 128; // rows, and columns, of a block's results
constexpr int DEPTH = 16; // words along k in a step: 16 floats or 32 bf16

// Stored tiles are [TILE, ALONG] where an operand's rows run along k, [DEPTH, ACROSS] where
// they lie across it. The padding puts the words of a fragment into different banks.
constexpr int ALONG = DEPTH + 4;
constexpr int ACROSS = TILE + 8;
constexpr int TILE_WORDS = TILE * ALONG; // of the larger

template <typename A> constexpr int VECTOR = 16 / (int)sizeof(A);        // elements in 16 bytes
template <typename A> constexpr int STEP = DEPTH * 4 / (int)sizeof(A);   // elements along k in a step

// whole tells whether rows of n elements from p on can be read in vectors.
template <typename A> DEVICE bool whole(const A* p, int n) {
    return n % VECTOR<A> == 0 && (u64)p % 16 == 0;
}

// fetch reads 16 bytes of a row, of which left elements from p on belong to it; the others are 0.
DEVICE uint4 fetch(const float* p, int left, bool vectors) {
    if (vectors) return left > 0 ? *(const uint4*)p : make_uint4(0, 0, 0, 0);
    uint4 v = {};
    if (left > 0) v.x = __float_as_uint(p[0]);
    if (left > 1) v.y = __float_as_uint(p[1]);
    if (left > 2) v.z = __float_as_uint(p[2]);
    if (left > 3) v.w = __float_as_uint(p[3]);
    return v;
}

DEVICE u32 fetch_pair(const bf16* p, int left) {
    u32 low = left > 0 ? p[0].bits : 0, high = left > 1 ? p[1].bits : 0;
    return low | high << 16;
}

DEVICE uint4 fetch(const bf16* p, int left, bool vectors) {
    if (vectors) return left > 0 ? *(const uint4*)p : make_uint4(0, 0, 0, 0);
    return make_uint4(fetch_pair(p, left), fetch_pair(p + 2, left - 2), fetch_pair(p + 4, left - 4), fetch_pair(p + 6, left - 6));
}

// rounded prepares a vector for the products.
DEVICE uint4 rounded(Fp32, uint4 v) { return v; }
DEVICE uint4 rounded(Bf16, uint4 v) { return v; }
DEVICE uint4 rounded(Tf32, uint4 v) {
    return make_uint4(to_tf32(__uint_as_float(v.x)), to_tf32(__uint_as_float(v.y)), to_tf32(__uint_as_float(v.z)), to_tf32(__uint_as_float(v.w)));
}

// scaled multiplies a vector's elements by a factor.
DEVICE u32 scaled_word(float, u32 x, float factor) { return __float_as_uint(__uint_as_float(x) * factor); }
DEVICE u32 scaled_word(bf16, u32 x, float factor) {
    return pack_bf16(__uint_as_float(x << 16) * factor, __uint_as_float(x & 0xffff0000u) * factor);
}
template <typename A> DEVICE uint4 scaled(uint4 v, float factor) {
    return make_uint4(scaled_word(A(), v.x, factor), scaled_word(A(), v.y, factor), scaled_word(A(), v.z, factor), scaled_word(A(), v.w, factor));
}

// An operand whose rows run along k: a thread reads a vector of two rows in each step.
template <typename A> struct AlongRows {
    const A* row[2]; // null beyond the operand
    int k;           // length of a row
    bool vectors;
};

// along_row is the row of the tile that a thread reads, i being 0 or 1.
DEVICE int along_row(int i) { return threadIdx.x / 4 + 64 * i; }

// read_along reads a thread's part of step number step.
template <typename A> DEVICE void read_along(uint4 v[2], const AlongRows<A>& x, int step) {
    const int at = step * STEP<A> + threadIdx.x % 4 * VECTOR<A>;
    for (int i = 0; i < 2; i++)
        v[i] = fetch(x.row[i] + at, x.row[i] ? x.k - at : 0, x.vectors);
}

template <typename Arithmetic> DEVICE void keep_along(u32* tile, const uint4 v[2]) {
    for (int i = 0; i < 2; i++)
        *(uint4*)&tile[along_row(i) * ALONG + threadIdx.x % 4 * 4] = rounded(Arithmetic(), v[i]);
}

// An operand whose rows lie across k: a thread reads a vector of two rows of each step, the
// same columns of both. across_row is the row, i being 0 or 1, across_column the column.
DEVICE int across_row(float, int i) { return threadIdx.x / 32 + 8 * i; }
DEVICE int across_row(bf16, int i) { return threadIdx.x / 16 * 2 + i; }
template <typename A> DEVICE int across_column() { return threadIdx.x % (TILE / VECTOR<A>) * VECTOR<A>; }

template <typename Arithmetic> DEVICE void keep_across(Arithmetic a, u32* tile, const uint4 v[2]) {
    for (int i = 0; i < 2; i++)
        *(uint4*)&tile[across_row(0.f, i) * ACROSS + across_column<float>()] = rounded(a, v[i]);
}

// Two rows of bf16 become one row of words, of the elements' lower or upper halves.
DEVICE u32 lower(u32 a, u32 b) { return (a & 0xffffu) | (b << 16); }
DEVICE u32 upper(u32 a, u32 b) { return (a >> 16) | (b & 0xffff0000u); }

DEVICE void keep_across(Bf16, u32* tile, const uint4 v[2]) {
    const uint4 a = v[0], b = v[1];
    u32* to = &tile[threadIdx.x / 16 * ACROSS + across_column<bf16>()];
    *(uint4*)to = make_uint4(lower(a.x, b.x), upper(a.x, b.x), lower(a.y, b.y), upper(a.y, b.y));
    *(uint4*)(to + 4) = make_uint4(lower(a.z, b.z), upper(a.z, b.z), lower(a.w, b.w), upper(a.w, b.w));
}

// The results of a thread: c[i][j][r] is row warp_row() + 16 i + lane/4 + 8 (r/2) and column
// warp_column() + 8 j + 2 (lane%4) + r%2 of the tile, as mma lays them out.
typedef float Results[4][4][4];

DEVICE int warp_row() { return threadIdx.x / 128 * 64; }
DEVICE int warp_column() { return threadIdx.x / 32 % 4 * 32; }
DEVICE int result_row(int i, int r) { return warp_row() + 16 * i + threadIdx.x % 32 / 4 + 8 * (r / 2); }
DEVICE int result_column(int j) { return warp_column() + 8 * j + threadIdx.x % 4 * 2; }

// within tells whether the warp has any of a tile's first rows and columns.
DEVICE bool within(int rows, int columns) { return warp_row() < rows && warp_column() < columns; }

// word is the word number w along k of row (or column) i of a stored tile.
template <bool IS_ACROSS> DEVICE u32 word(const u32* tile, int i, int w) {
    return IS_ACROSS ? tile[w * ACROSS + i] : tile[i * ALONG + w];
}

DEVICE void mma(Tf32, float c[4], const u32 a[4], const u32 b[2]) { mma_tf32(c, a, b); }
DEVICE void mma(Bf16, float c[4], const u32 a[4], const u32 b[2]) { mma_bf16(c, a, b); }

// multiply adds the product of two stored tiles to c.
template <bool ACROSS_A, bool ACROSS_B, typename Arithmetic>
DEVICE void multiply(Arithmetic arithmetic, Results& c, const u32* a, const u32* b) {
    const int group = threadIdx.x % 32 / 4, lane = threadIdx.x % 4;
#pragma unroll
    for (int w = lane; w < DEPTH; w += 8) {
        u32 right[4][2];
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
            for (int r = 0; r < 2; r++) right[j][r] = word<ACROSS_B>(b, warp_column() + 8 * j + group, w + 4 * r);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            u32 left[4];
#pragma unroll
            for (int r = 0; r < 4; r++) left[r] = word<ACROSS_A>(a, warp_row() + 16 * i + group + r % 2 * 8, w + r / 2 * 4);
#pragma unroll
            for (int j = 0; j < 4; j++) mma(arithmetic, c[i][j], left, right[j]);
        }
    }
}

template <bool ACROSS_A, bool ACROSS_B>
DEVICE void multiply(Fp32, Results& c, const u32* a, const u32* b) {
#pragma unroll 4
    for (int w = 0; w < DEPTH; w++) {
        float right[4][2];
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
            for (int r = 0; r < 2; r++) right[j][r] = __uint_as_float(word<ACROSS_B>(b, result_column(j) + r, w));
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const float left = __uint_as_float(word<ACROSS_A>(a, result_row(i, 2 * half), w));
#pragma unroll
                for (int j = 0; j < 4; j++)
#pragma unroll
                    for (int r = 0; r < 2; r++) c[i][j][2 * half + r] = fmaf(left, right[j][r], c[i][j][2 * half + r]);
            }
    }
}

// STAGED are the words of shared memory that each_four needs.
constexpr int STAGED = TILE / 2 * ACROSS;

// each_four hands out the results through shared memory, which may be that of the operands:
// a warp calls each(row, column, four) for rows of the tile and its lane's four columns.
template <typename Each> DEVICE void each_four(const Results& c, float* stage, const Each& each) {
    const int lane = threadIdx.x % 32;
#pragma unroll 1
    for (int half = 0; half < TILE; half += TILE / 2) {
        __syncthreads(); // what was there has been read
        if (warp_row() == half) {
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
#pragma unroll
                    for (int r = 0; r < 4; r += 2) store2(&stage[(result_row(i, r) - half) * ACROSS + result_column(j)], &c[i][j][r]);
        }
        __syncthreads();
#pragma unroll 1
        for (int row = threadIdx.x / 32; row < TILE / 2; row += THREADS / 32) {
            float four[4];
            load4(&stage[row * ACROSS + lane * 4], four);
            each(half + row, lane * 4, four);
        }
    }
}
