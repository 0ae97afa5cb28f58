// The router of a mixture of experts: the gates of graph/kernel/moe_route.go and the sorted
// assignments of graph/kernel/moe_dispatch.go. A warp has a token. Assignments are sorted
// by counting them, in chunks of 256: every count and every place is that of one order, so
// the sort is stable and the same each time.
#include "prelude.cuh"

constexpr int CHUNK = 256; // assignments of a block

DEVICE int warp_scan(int v) { // inclusive
    for (int d = 1; d < 32; d *= 2) {
        const int before = __shfl_up_sync(0xffffffffu, v, d);
        if ((int)threadIdx.x % 32 >= d) v += before;
    }
    return v;
}

// A choice: an expert and its logit. A NaN counts as the lowest.
struct Choice {
    float logit;
    int expert;
};

DEVICE float ranked(float logit) { return logit == logit ? logit : -INFINITY; }

// Ties go to the lowest index.
DEVICE bool before(Choice a, Choice b) { return a.logit > b.logit || (a.logit == b.logit && a.expert < b.expert); }

// next finds the first choice after last.
DEVICE Choice next(const float* logits, int experts, Choice last) {
    Choice best = {-INFINITY, experts};
    for (int e = threadIdx.x % 32; e < experts; e += 32) {
        const Choice c = {ranked(logits[e]), e};
        if (before(last, c) && before(c, best)) best = c;
    }
    for (int d = 16; d > 0; d /= 2) {
        const Choice other = {__shfl_xor_sync(0xffffffffu, best.logit, d), __shfl_xor_sync(0xffffffffu, best.expert, d)};
        if (before(other, best)) best = other;
    }
    return best;
}

// Before all choices.
DEVICE Choice none() {
    const Choice c = {INFINITY, -1};
    return c;
}

DEVICE float largest(const float* logits, int experts) {
    float v = -INFINITY;
    for (int e = threadIdx.x % 32; e < experts; e += 32) v = fmaxf(v, logits[e]);
    return warp_max(v);
}

// total is the sum of exp(logit - shift) over all experts. It is NaN if a logit is.
DEVICE float total(const float* logits, int experts, float shift) {
    float sum = 0;
    for (int e = threadIdx.x % 32; e < experts; e += 32) sum += expf(logits[e] - shift);
    return warp_sum(sum);
}

// Shares are what a token's choices have of it: gate i is exp(logit_i - shift) / sum.
struct Shares {
    float shift, sum;
};

// shares of the top choices, or of all experts for top 1 and where gates are raw. A NaN that was not chosen makes
// them NaN too.
DEVICE Shares shares(const float* logits, int experts, int top, bool raw) {
    Shares s = {largest(logits, experts), 0};
    s.sum = total(logits, experts, s.shift);
    if (raw || top == 1) return s;
    float chosen = s.sum - s.sum; // 0, or NaN
    Choice c = none();
    for (int i = 0; i < top; i++) {
        c = next(logits, experts, c);
        chosen += expf(logits[c.expert] - s.shift);
    }
    s.sum = chosen;
    return s;
}

// moe_route makes gates [tokens, top] and choices [tokens, top] (or none) of logits
// [tokens, experts].
KERNEL(256) moe_route(float* gates, int* choices, const float* logits, int tokens, int experts, int top, int raw) {
    const i64 token = (i64)blockIdx.x * 8 + threadIdx.x / 32;
    if (token >= tokens) return;
    logits += token * experts;
    const Shares s = shares(logits, experts, top, raw);
    Choice c = none();
    for (int i = 0; i < top; i++) {
        c = next(logits, experts, c);
        if (threadIdx.x % 32 != 0) continue;
        gates[token * top + i] = expf(logits[c.expert] - s.shift) / s.sum;
        if (choices) choices[token * top + i] = c.expert;
    }
}

// The gradient of the logits where the gates are a softmax of the choices:
//
//     dlogits_c(i) = g_i (dg_i - sum over j of g_j dg_j), 0 elsewhere
DEVICE void grad_of_choices(float* dlogits, const float* dgates, const float* logits, Shares s, int experts, int top) {
    float along = 0;
    Choice c = none();
    for (int i = 0; i < top; i++) {
        c = next(logits, experts, c);
        along += expf(logits[c.expert] - s.shift) / s.sum * dgates[i];
    }
    for (int e = threadIdx.x % 32; e < experts; e += 32) dlogits[e] = 0;
    c = none();
    for (int i = 0; i < top; i++) {
        c = next(logits, experts, c);
        if (c.expert % 32 == (int)threadIdx.x % 32) // who has set it to 0
            dlogits[c.expert] = expf(logits[c.expert] - s.shift) / s.sum * (dgates[i] - along);
    }
}

// The gradient of the logits where the gates are a softmax of all experts:
//
//     dlogits_e = sum over i of g_i dg_i ([e = c(i)] - p_e)
DEVICE void grad_of_all(float* dlogits, const float* dgates, const float* logits, Shares s, int experts, int top) {
    float along = 0;
    Choice c = none();
    for (int i = 0; i < top; i++) {
        c = next(logits, experts, c);
        along += expf(logits[c.expert] - s.shift) / s.sum * dgates[i];
    }
    for (int e = threadIdx.x % 32; e < experts; e += 32) dlogits[e] = -along * (expf(logits[e] - s.shift) / s.sum);
    c = none();
    for (int i = 0; i < top; i++) {
        c = next(logits, experts, c);
        if (c.expert % 32 == (int)threadIdx.x % 32) // who has set it above
            dlogits[c.expert] += expf(logits[c.expert] - s.shift) / s.sum * dgates[i];
    }
}

// moe_route_grad makes dlogits [tokens, experts] of dgates [tokens, top]; the choices are
// made again.
KERNEL(256) moe_route_grad(float* dlogits, const float* dgates, const float* logits, int tokens, int experts, int top, int raw) {
    const i64 token = (i64)blockIdx.x * 8 + threadIdx.x / 32;
    if (token >= tokens) return;
    logits += token * experts;
    dlogits += token * experts;
    dgates += token * top;
    const Shares s = shares(logits, experts, top, raw);
    if (top > 1 && raw) {
        grad_of_all(dlogits, dgates, logits, s, experts, top);
        return;
    }
    if (top > 1) {
        grad_of_choices(dlogits, dgates, logits, s, experts, top);
        return;
    }
    const Choice c = next(logits, experts, none());
    const float gate = expf(logits[c.expert] - s.shift) / s.sum;
    for (int e = threadIdx.x % 32; e < experts; e += 32) {
        const float p = expf(logits[e] - s.shift) / s.sum;
        dlogits[e] = gate * dgates[0] * ((e == c.expert ? 1.f : 0.f) - p);
    }
}

// chunk reads a block's choices and returns how many there are.
DEVICE int chunk(int* own, const int* choices, int rows) {
    const int first = blockIdx.x * CHUNK, at = first + threadIdx.x;
    own[threadIdx.x] = at < rows ? choices[at] : -1;
    __syncthreads();
    return min(CHUNK, rows - first);
}

// moe_count counts the assignments of each expert in each chunk, [experts, chunks].
KERNEL(256) moe_count(int* counts, const int* choices, int rows, int experts) {
    __shared__ int own[CHUNK];
    const int n = chunk(own, choices, rows);
    for (int e = threadIdx.x; e < experts; e += CHUNK) {
        int count = 0;
        for (int i = 0; i < n; i++) count += own[i] == e;
        counts[(i64)e * gridDim.x + blockIdx.x] = count;
    }
}

// moe_offsets replaces the counts of an expert by their sums over the chunks before, and
// makes offsets [experts + 1]. One block.
KERNEL(1024) moe_offsets(int* offsets, int* counts, int experts, int chunks) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int e = warp; e < experts; e += 32) {
        int sum = 0;
        for (int from = 0; from < chunks; from += 32) {
            int* at = counts + (i64)e * chunks + from + lane;
            const int v = from + lane < chunks ? *at : 0, upto = warp_scan(v);
            if (from + lane < chunks) *at = sum + upto - v;
            sum += __shfl_sync(0xffffffffu, upto, 31);
        }
        if (lane == 0) offsets[e + 1] = sum;
    }
    __syncthreads();
    if (warp != 0) return;
    int sum = 0;
    for (int from = 0; from < experts; from += 32) {
        const int e = from + lane, upto = warp_scan(e < experts ? offsets[e + 1] : 0);
        if (e < experts) offsets[e + 1] = sum + upto;
        sum += __shfl_sync(0xffffffffu, upto, 31);
    }
    if (lane == 0) offsets[0] = 0;
}

// moe_place gives each assignment its row.
KERNEL(256) moe_place(int* places, int* order, const int* choices, const int* offsets, const int* counts, int rows) {
    __shared__ int own[CHUNK];
    const int n = chunk(own, choices, rows);
    if ((int)threadIdx.x >= n) return;
    const int e = own[threadIdx.x], assignment = blockIdx.x * CHUNK + threadIdx.x;
    int row = offsets[e] + counts[(i64)e * gridDim.x + blockIdx.x];
    for (int i = 0; i < (int)threadIdx.x; i++) row += own[i] == e;
    order[row] = assignment;
    places[assignment] = row;
}

// moe_expert_counts makes the number of rows of each expert.
KERNEL(256) moe_expert_counts(int* counts, const int* offsets, int experts) {
    const int e = blockIdx.x * 256 + threadIdx.x;
    if (e < experts) counts[e] = offsets[e + 1] - offsets[e];
}
