// The auxiliary losses of a router, as in graph/kernel/moe_losses.go: the balance and the
// z-loss. A warp has a token. With the number n_e of rows of each expert, f_e = n_e / (k T):
//
//     balance = E/T sum over t of sum over e of f_e p_te
//     z       = 1/T sum over t of (log Z_t)^2
#include "prelude.cuh"

// The softmax of a token: p_e = exp(logit_e - shift) / sum.
struct Softmax {
    float shift, sum;
};

DEVICE Softmax softmax(const float* logits, int experts) {
    Softmax s = {-INFINITY, 0};
    for (int e = threadIdx.x % 32; e < experts; e += 32) s.shift = fmaxf(s.shift, logits[e]);
    s.shift = warp_max(s.shift);
    for (int e = threadIdx.x % 32; e < experts; e += 32) s.sum += expf(logits[e] - s.shift);
    s.sum = warp_sum(s.sum);
    return s;
}

DEVICE float log_sum(Softmax s) { return s.shift + logf(s.sum); }

// mean_rows is the sum over e of n_e p_e.
DEVICE float mean_rows(Softmax s, const float* logits, const int* offsets, int experts) {
    float mean = 0;
    for (int e = threadIdx.x % 32; e < experts; e += 32)
        mean += (float)(offsets[e + 1] - offsets[e]) * (expf(logits[e] - s.shift) / s.sum);
    return warp_sum(mean);
}

// moe_loss_terms sums a token's term over the tokens of a block: that of the balance, or,
// without offsets, of the z-loss.
KERNEL(256) moe_loss_terms(float* sums, const float* logits, const int* offsets, int tokens, int experts) {
    float sum = 0;
    for (i64 t = (i64)blockIdx.x * 8 + threadIdx.x / 32; t < tokens; t += (i64)gridDim.x * 8) {
        const Softmax s = softmax(logits + t * experts, experts);
        sum += offsets ? mean_rows(s, logits + t * experts, offsets, experts) : log_sum(s) * log_sum(s);
    }
    sum = block_sum<256>(threadIdx.x % 32 == 0 ? sum : 0.f);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// moe_loss adds the sums of n blocks. One block.
KERNEL(256) moe_loss(float* loss, const float* sums, int n, float factor) {
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += 256) sum += sums[i];
    sum = block_sum<256>(sum);
    if (threadIdx.x == 0) *loss = factor * sum;
}

// moe_loss_grad is factor * dloss times the gradient of the logits:
//
//     p_te (n_te - sum over j of n_j p_tj)     with offsets
//     p_te log Z_t                             without
KERNEL(256) moe_loss_grad(float* dlogits, const float* dloss, const float* logits, const int* offsets, int tokens, int experts, float factor) {
    const i64 t = (i64)blockIdx.x * 8 + threadIdx.x / 32;
    if (t >= tokens) return;
    logits += t * experts;
    factor *= *dloss;
    const Softmax s = softmax(logits, experts);
    const float shared = offsets ? -mean_rows(s, logits, offsets, experts) : log_sum(s);
    for (int e = threadIdx.x % 32; e < experts; e += 32) {
        const float own = offsets ? (float)(offsets[e + 1] - offsets[e]) : 0.f;
        dlogits[t * experts + e] = factor * (expf(logits[e] - s.shift) / s.sum) * (own + shared);
    }
}
