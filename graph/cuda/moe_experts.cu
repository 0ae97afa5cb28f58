// The experts of a mixture, as in graph/kernel/moe_experts.go: products of the rows of each
// expert, sorted by a dispatch, with the expert's own matrix. No row is padding, and nobody
// but the device knows how many rows an expert has: a grid has enough blocks for any
// distribution, ceil(rows/128) + experts row tiles, and a block finds its own from the
// dispatch's offsets; superfluous ones end at once.
#include "activations.cuh"
#include "moe_tile.cuh"
#include "vector.cuh"

// The rows of a dispatch: row j is assignment order[j], of token order[j] / top. Expert e
// has the rows [offsets[e], offsets[e+1]).
struct Dispatch {
    const int *order, *offsets;
    int experts, top;
};

DEVICE int warp_largest(int v) {
    for (int d = 16; d > 0; d /= 2) v = max(v, __shfl_xor_sync(0xffffffffu, v, d));
    return v;
}

// The rows [first, end) of one expert; expert is -1 where there are none.
struct RowTile {
    int expert, first, end;
};

// row_tile finds tile number wanted, 32 experts at a time. Every warp finds it for itself.
DEVICE RowTile row_tile(const Dispatch& d, int wanted) {
    const int lane = threadIdx.x % 32;
    RowTile t = {-1, 0, 0};
    for (int from = 0; from < d.experts; from += 32) {
        const int e = from + lane;
        const int tiles = e < d.experts ? (d.offsets[e + 1] - d.offsets[e] + TILE - 1) / TILE : 0;
        int upto = tiles;
        for (int step = 1; step < 32; step *= 2) {
            const int before = __shfl_up_sync(0xffffffffu, upto, step);
            if (lane >= step) upto += before;
        }
        const bool here = wanted >= upto - tiles && wanted < upto;
        const int expert = warp_largest(here ? e : -1), number = warp_largest(here ? wanted - (upto - tiles) : 0);
        if (expert >= 0) {
            t.expert = expert;
            t.first = d.offsets[expert] + number * TILE;
            t.end = min(t.first + TILE, d.offsets[expert + 1]);
            return t;
        }
        wanted -= __shfl_sync(0xffffffffu, upto, 31);
    }
    return t;
}

// c_j = a_j W_e(j), with W [experts, k, n], or [experts, n, k] where transposed. a is
// [rows, k], or, gathered, [tokens, k] with a_j that of the row's token.
template <typename A> struct Rows {
    const A *a, *w;
    Dispatch d;
    int n, k;
    bool gathered;
};

// left_rows finds a thread's rows of a.
template <typename A> DEVICE AlongRows<A> left_rows(const Rows<A>& x, RowTile t) {
    AlongRows<A> left = {{nullptr, nullptr}, x.k, whole(x.a, x.k)};
    for (int i = 0; i < 2; i++) {
        const int row = t.first + along_row(i);
        if (row < t.end) left.row[i] = x.a + (i64)(x.gathered ? x.d.order[row] / x.d.top : row) * x.k;
    }
    return left;
}

// The expert's matrix, as its stored rows run: along k, or across it.
template <typename A> struct Along {
    static constexpr bool across = false;
    AlongRows<A> rows;
};
template <typename A> struct Across {
    static constexpr bool across = true;
    const A* column; // of row 0
    int n, k, left;  // left: columns from there on, 0 or less beyond the matrix
    bool vectors;
};

template <typename A> DEVICE void matrix(Along<A>& m, const Rows<A>& x, const A* w, int column) {
    m.rows.k = x.k;
    m.rows.vectors = whole(x.w, x.k);
    for (int i = 0; i < 2; i++) {
        const int at = column + along_row(i);
        m.rows.row[i] = at < x.n ? w + (i64)at * x.k : nullptr;
    }
}

template <typename A> DEVICE void matrix(Across<A>& m, const Rows<A>& x, const A* w, int column) {
    m.n = x.n;
    m.k = x.k;
    m.left = x.n - column - across_column<A>();
    m.column = w + column + across_column<A>();
    m.vectors = whole(x.w, x.n);
}

template <typename A> DEVICE void read(uint4 v[2], const Along<A>& m, int step) { read_along(v, m.rows, step); }
template <typename A> DEVICE void read(uint4 v[2], const Across<A>& m, int step) {
    for (int i = 0; i < 2; i++) {
        const int at = step * STEP<A> + across_row(A(), i);
        v[i] = fetch(m.column + (i64)at * m.n, at < m.k ? m.left : 0, m.vectors);
    }
}

template <typename Arithmetic, typename A> DEVICE void keep(Arithmetic, u32* tile, const Along<A>&, const uint4 v[2]) {
    keep_along<Arithmetic>(tile, v);
}
template <typename Arithmetic, typename A> DEVICE void keep(Arithmetic a, u32* tile, const Across<A>&, const uint4 v[2]) {
    keep_across(a, tile, v);
}

// product computes one tile of c and hands it to finish.
template <typename Arithmetic, template <typename> class Matrix, typename A, typename End>
DEVICE void product(const Rows<A>& x, const End& end) {
    __shared__ __align__(16) u32 shared[4 * TILE_WORDS];
    const int columns = (x.n + TILE - 1) / TILE, column = blockIdx.x % columns * TILE;
    const RowTile t = row_tile(x.d, blockIdx.x / columns);
    if (t.expert < 0) return;
    const AlongRows<A> left = left_rows(x, t);
    Matrix<A> right;
    matrix(right, x, x.w + (i64)t.expert * x.n * x.k, column);
    Results c = {};
    uint4 a[2], b[2];
    const int steps = (x.k + STEP<A> - 1) / STEP<A>;
    const bool busy = within(t.end - t.first, x.n - column);
    for (int step = 0; step <= steps; step++) { // a step's tiles are read one step before they are used
        u32* to = shared + step % 2 * 2 * TILE_WORDS;
        const u32* from = shared + (step + 1) % 2 * 2 * TILE_WORDS;
        if (step < steps) {
            read_along(a, left, step);
            read(b, right, step);
        }
        if (step > 0 && busy) multiply<false, Matrix<A>::across>(Arithmetic(), c, from, from + TILE_WORDS);
        if (step < steps) {
            keep_along<Arithmetic>(to, a);
            keep(Arithmetic(), to + TILE_WORDS, right, b);
        }
        __syncthreads();
    }
    each_four(c, (float*)shared, [&](int row, int at, float four[4]) {
        row += t.first;
        if (row < t.end) finish(end, x, t.expert, row, column + at, four);
    });
}

// Ends of a product. Plain stores c.
template <typename A> struct Plain {
    A* c; // [rows, n]
};

template <typename A> DEVICE void finish(const Plain<A>& end, const Rows<A>& x, int, int row, int column, const float c[4]) {
    write4(end.c + (i64)row * x.n + column, x.n - column, c);
}

// Hidden stores h = c + bias and, where there is a place for it, a = gelu(h).
template <typename A> struct Hidden {
    A *h, *a;          // [rows, n]
    const float* bias; // [experts, n], or null
    bool exact;
};

template <typename A> DEVICE void finish(const Hidden<A>& end, const Rows<A>& x, int expert, int row, int column, float h[4]) {
    const i64 at = (i64)row * x.n + column;
    const int left = x.n - column;
    if (end.bias) {
        float bias[4];
        read4(end.bias + (i64)expert * x.n + column, left, bias);
        for (int i = 0; i < 4; i++) h[i] += bias[i];
    }
    write4(end.h + at, left, h);
    if (!end.a) return;
    for (int i = 0; i < 4; i++) h[i] = gelu(h[i], end.exact);
    write4(end.a + at, left, h);
}

// Back finishes the gradient of the hidden rows, c being r_j = W2_e(j) dy_t(j): it stores
// g_j r_j, times gelu'(h_j) where there is an h, and each column tile's part of r_j . a_j,
// of which the gradient of the gates is made.
template <typename A> struct Back {
    A* dx;              // [rows, n]
    float* parts;       // [column tiles, rows], or null: no gradient of the gates
    const A *a, *h;     // [rows, n]; h may be null
    const float* gates; // [tokens, top]
    int rows;
    bool exact;
};

template <typename A> DEVICE void finish(const Back<A>& end, const Rows<A>& x, int, int row, int column, float r[4]) {
    const i64 at = (i64)row * x.n + column;
    const int left = x.n - column;
    float v[4];
    if (end.parts) {
        read4(end.a + at, left, v);
        const float part = warp_sum(r[0] * v[0] + r[1] * v[1] + r[2] * v[2] + r[3] * v[3]);
        if (threadIdx.x % 32 == 0) end.parts[(i64)(column / TILE) * end.rows + row] = part;
    }
    const float gate = end.gates[x.d.order[row]];
    for (int i = 0; i < 4; i++) r[i] *= gate;
    if (end.h) {
        read4(end.h + at, left, v);
        for (int i = 0; i < 4; i++) r[i] *= gelu_slope(v[i], end.exact);
    }
    write4(end.dx + at, left, r);
}

// The products, for each arithmetic P: moe_hidden makes h and a of the tokens u, moe_rows
// a_j W_e(j) and moe_rows_back a_j W_e(j)^T of sorted rows, moe_hidden_back takes dy back.
#define PRODUCTS(P, A, SUFFIX, BLOCKS)                                                                                                       \
    KERNEL(256, BLOCKS) moe_hidden##SUFFIX(A* h, A* a, const A* u, const A* w, const float* bias, const int* order, const int* offsets,      \
                                   int experts, int top, int n, int k, int exact) {                                                  \
        const Rows<A> x = {u, w, {order, offsets, experts, top}, n, k, true};                                                        \
        const Hidden<A> end = {h, a, bias, exact != 0};                                                                              \
        product<P, Across>(x, end);                                                                                                  \
    }                                                                                                                                \
    KERNEL(256, BLOCKS) moe_rows##SUFFIX(A* c, const A* a, const A* w, const int* order, const int* offsets, int experts, int top, int n,    \
                                 int k) {                                                                                            \
        const Rows<A> x = {a, w, {order, offsets, experts, top}, n, k, false};                                                       \
        const Plain<A> end = {c};                                                                                                    \
        product<P, Across>(x, end);                                                                                                  \
    }                                                                                                                                \
    KERNEL(256, BLOCKS) moe_rows_back##SUFFIX(A* c, const A* a, const A* w, const int* order, const int* offsets, int experts, int top,      \
                                      int n, int k) {                                                                                \
        const Rows<A> x = {a, w, {order, offsets, experts, top}, n, k, false};                                                       \
        const Plain<A> end = {c};                                                                                                    \
        product<P, Along>(x, end);                                                                                                   \
    }                                                                                                                                \
    KERNEL(256, BLOCKS) moe_hidden_back##SUFFIX(A* dx, float* parts, const A* dy, const A* w, const A* a, const A* h, const float* gates,    \
                                        const int* order, const int* offsets, int experts, int top, int rows, int n, int k,          \
                                        int exact) {                                                                                 \
        const Rows<A> x = {dy, w, {order, offsets, experts, top}, n, k, true};                                                       \
        const Back<A> end = {dx, parts, a, h, gates, rows, exact != 0};                                                              \
        product<P, Along>(x, end);                                                                                                   \
    }

PRODUCTS(Fp32, float, _fp32, 1)
PRODUCTS(Tf32, float, _tf32, 2)
PRODUCTS(Bf16, bf16, _bf16, 2)
