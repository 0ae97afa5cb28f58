// The sum of the experts' rows of each token, weighed by its gates, and the gradient of the gates
// (graph/kernel/moe_experts.go). Rows are sorted by expert: places says where a choice's row is.
#include "vector.cuh"

// gates_grad makes the gradient of a gate, dg_j = r_j . a_j + dy_t(j) . b2_e(j), a warp each,
// from the parts of r_j . a_j, [tiles, rows].
template <typename A>
DEVICE void gates_grad(float* dgates, const float* parts, const A* dy, const float* bias, const int* places, const int* choices,
                       int rows, int top, int tiles, int width) {
    const i64 assignment = (i64)blockIdx.x * 8 + threadIdx.x / 32;
    if (assignment >= rows) return;
    const int lane = threadIdx.x % 32, row = places[assignment];
    float sum = 0;
    for (int tile = lane; tile < tiles; tile += 32) sum += parts[(i64)tile * rows + row];
    if (bias) {
        dy += assignment / top * width;
        bias += (i64)choices[assignment] * width;
        for (int i = lane; i < width; i += 32) sum += load(dy + i) * bias[i];
    }
    sum = warp_sum(sum);
    if (lane == 0) dgates[assignment] = sum;
}

#define GATES_GRAD(A, SUFFIX)                                                                                                        \
    KERNEL(256) moe_gates_grad##SUFFIX(float* dgates, const float* parts, const A* dy, const float* bias, const int* places,         \
                                       const int* choices, int rows, int top, int tiles, int width) {                                \
        gates_grad<A>(dgates, parts, dy, bias, places, choices, rows, top, tiles, width);                                            \
    }

GATES_GRAD(float, _f32)
GATES_GRAD(bf16, _bf16)

// What combine sums: the rows of each token, plus the experts' biases, times the gates.
template <typename A> struct Terms {
    const A* rows;             // [rows, width]
    const float *bias, *gates; // [experts, width], [tokens, top]; either may be null
    const int *places, *choices; // [tokens, top]
    int top, width;
};

// combine_four sums four columns of one token, in the order of its choices.
template <typename Y, typename A> DEVICE void combine_four(Y* y, const Terms<A>& x, i64 token, int column, bool accumulate) {
    float sum[4] = {0, 0, 0, 0}, v[4], bias[4];
    if (accumulate) load4(y, sum);
    for (i64 i = token * x.top; i < (token + 1) * x.top; i++) {
        const float gate = x.gates ? x.gates[i] : 1.f;
        load4(x.rows + (i64)x.places[i] * x.width + column, v);
        if (x.bias) {
            load4(x.bias + (i64)x.choices[i] * x.width + column, bias);
            for (int q = 0; q < 4; q++) v[q] += bias[q];
        }
        for (int q = 0; q < 4; q++) sum[q] += gate * v[q];
    }
    store4(y, sum);
}

// combine_one sums one column of one token.
template <typename Y, typename A> DEVICE void combine_one(Y* y, const Terms<A>& x, i64 token, int column, bool accumulate) {
    float sum = accumulate ? load(y) : 0.f;
    for (i64 i = token * x.top; i < (token + 1) * x.top; i++) {
        float v = load(x.rows + (i64)x.places[i] * x.width + column);
        if (x.bias) v += x.bias[(i64)x.choices[i] * x.width + column];
        sum += (x.gates ? x.gates[i] : 1.f) * v;
    }
    store(y, sum);
}

// combine makes y [tokens, width].
template <typename Y, typename A> DEVICE void combine(Y* y, const Terms<A>& x, int tokens, int accumulate) {
    const bool four = x.width % 4 == 0 && ((u64)y | (u64)x.rows | (u64)x.bias) % 16 == 0;
    const i64 per = four ? x.width / 4 : x.width, all = (i64)tokens * per;
    for (i64 at = (i64)blockIdx.x * blockDim.x + threadIdx.x; at < all; at += (i64)gridDim.x * blockDim.x) {
        const i64 token = at / per;
        const int column = (int)(at % per);
        if (four)
            combine_four(y + at * 4, x, token, column * 4, accumulate != 0);
        else
            combine_one(y + at, x, token, column, accumulate != 0);
    }
}

#define COMBINE(Y, A, SUFFIX)                                                                                                        \
    KERNEL(256) moe_combine##SUFFIX(Y* y, const A* rows, const float* bias, const float* gates, const int* places,                   \
                                    const int* choices, int tokens, int top, int width, int accumulate) {                            \
        const Terms<A> x = {rows, bias, gates, places, choices, top, width};                                                         \
        combine(y, x, tokens, accumulate);                                                                                           \
    }

COMBINE(float, float, _f32)
COMBINE(bf16, bf16, _bf16)
COMBINE(float, bf16, _bf16_f32)
