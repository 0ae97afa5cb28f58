// The gradients of the experts' weights and biases, as in graph/kernel/moe_gemm.go and
// moe_bias.go: sums over the rows of each expert, in their order.
#include "moe_tile.cuh"
#include "vector.cuh"

// dw_e (+)= sum over the rows j of e of g_j a_j^T b_j, [experts, m, n]. a is [rows, m] or,
// gathered, [tokens, m]; so is b, [.., n]. Without gates every g_j is 1.
template <typename A> struct Outer {
    const A *a, *b;
    const float* gates;          // [tokens, top], or null
    const int *order, *offsets;
    int top, m, n;
    bool gathered_a, gathered_b;
};

// What a thread reads of a step: two rows of each operand.
template <typename A> struct OuterStep {
    uint4 a[2], b[2];
    float gate[2];
};

// lookup finds the assignments of a thread's rows of a step, -1 beyond end.
template <typename A> DEVICE void lookup(int assignment[2], const Outer<A>& x, int first, int end, int step) {
    for (int i = 0; i < 2; i++) {
        const int row = first + step * STEP<A> + across_row(A(), i);
        assignment[i] = row < end ? x.order[row] : -1;
    }
}

// read reads a thread's part of a step, from column row of a and column column of b on.
template <typename A>
DEVICE void read(OuterStep<A>& s, const Outer<A>& x, const int assignment[2], int first, int step, int row, int column) {
    row += across_column<A>();
    column += across_column<A>();
    const bool whole_a = whole(x.a, x.m), whole_b = whole(x.b, x.n);
    for (int i = 0; i < 2; i++) {
        const bool inside = assignment[i] >= 0;
        const int at = inside ? first + step * STEP<A> + across_row(A(), i) : 0, token = inside ? assignment[i] / x.top : 0;
        s.a[i] = fetch(x.a + (i64)(x.gathered_a ? token : at) * x.m + row, inside ? x.m - row : 0, whole_a);
        s.b[i] = fetch(x.b + (i64)(x.gathered_b ? token : at) * x.n + column, inside ? x.n - column : 0, whole_b);
        if (x.gates) s.gate[i] = inside ? x.gates[assignment[i]] : 0.f;
    }
}

template <typename Arithmetic, typename A> DEVICE void keep(Arithmetic arithmetic, u32* a, u32* b, OuterStep<A>& s, bool gates) {
    if (gates)
        for (int i = 0; i < 2; i++) s.a[i] = scaled<A>(s.a[i], s.gate[i]);
    keep_across(arithmetic, a, s.a);
    keep_across(arithmetic, b, s.b);
}

// outer computes a tile of an expert's matrix; blockIdx.y is the expert.
template <typename Arithmetic, typename A> DEVICE void outer(float* dw, const Outer<A>& x, bool accumulate) {
    constexpr int SIZE = DEPTH * ACROSS;
    __shared__ __align__(16) u32 shared[4 * SIZE];
    static_assert(STAGED <= 4 * SIZE, "the results pass through the operands' memory");
    const int columns = (x.n + TILE - 1) / TILE, row = blockIdx.x / columns * TILE, column = blockIdx.x % columns * TILE;
    const int first = x.offsets[blockIdx.y], end = x.offsets[blockIdx.y + 1], steps = (end - first + STEP<A> - 1) / STEP<A>;
    if (steps == 0 && accumulate) return;
    Results c = {};
    OuterStep<A> s;
    int assignment[2]; // of the step that is read next
    lookup(assignment, x, first, end, 0);
    const bool busy = within(x.m - row, x.n - column);
    for (int step = 0; step <= steps; step++) { // a step's tiles are read one step before they are used
        u32* to = shared + step % 2 * 2 * SIZE;
        const u32* from = shared + (step + 1) % 2 * 2 * SIZE;
        if (step < steps) {
            read(s, x, assignment, first, step, row, column);
            lookup(assignment, x, first, end, step + 1);
        }
        if (step > 0 && busy) multiply<true, true>(Arithmetic(), c, from, from + SIZE);
        if (step < steps) keep(Arithmetic(), to, to + SIZE, s, x.gates != nullptr);
        __syncthreads();
    }
    dw += (i64)blockIdx.y * x.m * x.n;
    each_four(c, (float*)shared, [&](int i, int j, float four[4]) {
        if (row + i >= x.m) return;
        float old[4], *to = dw + (i64)(row + i) * x.n + column + j;
        const int left = x.n - column - j;
        if (accumulate) {
            read4(to, left, old);
            for (int q = 0; q < 4; q++) four[q] += old[q];
        }
        write4(to, left, four);
    });
}

#define WEIGHTS(P, A, SUFFIX, BLOCKS)                                                                                                        \
    KERNEL(256, BLOCKS) moe_weights##SUFFIX(float* dw, const A* a, const A* b, const float* gates, const int* order, const int* offsets,     \
                                    int top, int m, int n, int gathered_a, int gathered_b, int accumulate) {                         \
        const Outer<A> x = {a, b, gates, order, offsets, top, m, n, gathered_a != 0, gathered_b != 0};                               \
        outer<P>(dw, x, accumulate != 0);                                                                                            \
    }

WEIGHTS(Fp32, float, _fp32, 1)
WEIGHTS(Tf32, float, _tf32, 2)
WEIGHTS(Bf16, bf16, _bf16, 2)

// sums computes db_e (+)= sum over the rows j of e of x_j, [experts, width], or with gates
// of g_j x_t(j). blockIdx.y is the expert; a block has 32 columns, and each of its warps
// every eighth row.
template <typename A>
DEVICE void sums(float* db, const A* x, const float* gates, const int* order, const int* offsets, int top, int width, int accumulate) {
    __shared__ float parts[8][32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, column = blockIdx.x * 32 + lane;
    float sum = 0;
    if (column < width)
        for (int row = offsets[blockIdx.y] + warp; row < offsets[blockIdx.y + 1]; row += 8) {
            const int assignment = order[row];
            const i64 at = gates ? assignment / top : row;
            sum += (gates ? gates[assignment] : 1.f) * load(x + at * width + column);
        }
    parts[warp][lane] = sum;
    __syncthreads();
    if (warp != 0 || column >= width) return;
    for (int i = 1; i < 8; i++) sum += parts[i][lane];
    db += (i64)blockIdx.y * width + column;
    *db = accumulate ? *db + sum : sum;
}

#define SUMS(A, SUFFIX)                                                                                                              \
    KERNEL(256) moe_sums##SUFFIX(float* db, const A* x, const float* gates, const int* order, const int* offsets, int top, int width, \
                                 int accumulate) {                                                                                   \
        sums<A>(db, x, gates, order, offsets, top, width, accumulate);                                                               \
    }

SUMS(float, _f32)
SUMS(bf16, _bf16)
