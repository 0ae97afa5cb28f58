#!/usr/bin/env python3
"""Interpretability quantities of testdata/reference/gpt2-hf, in float64, straight from the equations.

Writes gpt2-hf.json next to this file; README.md lists its keys. Needs numpy.

Row-vector convention: a stream is x [1, D], a map is x W. For a norm with gain g [D] and bias b [D],

    LN(x) = (x C) / sigma(x) * g + b,   C = I - 11^T/D,   sigma(x)^2 = mean((x C)^2) + eps,

so what a weight W [D, n] with bias c reads is

    LN(x) W + c = x (C diag(g) W) / sigma(x) + (b W + c),

and C diag(g) W is called W, folded.
"""

import json
import math
import pathlib
import re

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
MODEL = HERE.parent / "reference" / "gpt2-hf"
TOKENS = 12
REPEATED = [5, 92, 17, 64, 110, 38, 71, 26]  # r of the induction test: 8 distinct ids


def read_safetensors(path):
    """name -> array. 8 bytes: the header's length; the header, JSON: name -> dtype, shape, data_offsets; then the data."""
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header, data = json.loads(raw[8 : 8 + length]), raw[8 + length :]
    kinds = {"F32": "<f4", "F64": "<f8", "I32": "<i4", "I64": "<i8"}
    out = {}
    for name, e in header.items():
        if name != "__metadata__":
            begin, end = e["data_offsets"]
            out[name] = np.frombuffer(data[begin:end], kinds[e["dtype"]]).reshape(e["shape"])
    return out


def check(what, got, want, tolerance):
    """Stops when two ways to one number differ, relative to the largest entry."""
    got, want = np.asarray(got), np.asarray(want)
    error = np.max(np.abs(got - want)) / max(np.max(np.abs(want)), 1e-300)
    if not error <= tolerance:
        raise SystemExit(f"{what}: want {want}, got {got}: relative error {error:.1e}, tolerance {tolerance:.0e}")


class Model:
    """The weights, in float64. Conv1D weights of the file are [in, out] as they are."""

    def __init__(self, folder):
        c = json.loads((folder / "config.json").read_text())
        assert c["model_type"] == "gpt2" and c["activation_function"] == "gelu_new"
        self.L, self.H, self.D, self.V = c["n_layer"], c["n_head"], c["n_embd"], c["vocab_size"]
        self.F, self.Dh, self.eps = c["n_inner"] or 4 * self.D, self.D // self.H, c["layer_norm_epsilon"]
        self.w = {name: t.astype(np.float64) for name, t in read_safetensors(folder / "model.safetensors").items()}
        self.C = np.eye(self.D) - np.ones((self.D, self.D)) / self.D

    def get(self, name):
        return self.w["transformer." + name]

    def fold(self, norm, W):  # C diag(g) W
        return self.C @ (self.get(norm + ".weight")[:, None] * W)

    def qkv(self, l):  # W_Q, W_K, W_V: [D, H, Dh] each, as in the file; biases: [H, Dh]
        W = self.get(f"h.{l}.attn.c_attn.weight").reshape(self.D, 3, self.H, self.Dh)
        b = self.get(f"h.{l}.attn.c_attn.bias").reshape(3, self.H, self.Dh)
        return [(W[:, i], b[i]) for i in range(3)]

    def folded_qkv(self, l, h):  # W_Q, W_K, W_V of a head: [D, Dh], folded with ln_1
        return [self.fold(f"h.{l}.ln_1", W[:, h]) for W, _ in self.qkv(l)]

    def W_O(self, l):  # [H, Dh, D]
        return self.get(f"h.{l}.attn.c_proj.weight").reshape(self.H, self.Dh, self.D)

    def W1(self, l):  # [D, F], folded with ln_2
        return self.fold(f"h.{l}.ln_2", self.get(f"h.{l}.mlp.c_fc.weight"))

    def W2(self, l):  # [F, D]
        return self.get(f"h.{l}.mlp.c_proj.weight")

    def W_E(self):  # [V, D]
        return self.get("wte.weight")

    def W_U(self):  # [D, V], folded with ln_f
        return self.fold("ln_f", self.W_E().T)

    def sigma(self, x):  # [T, 1]
        return np.sqrt(np.mean((x @ self.C) ** 2, axis=-1, keepdims=True) + self.eps)

    def norm(self, name, x):  # [T, D]
        return (x @ self.C) / self.sigma(x) * self.get(name + ".weight") + self.get(name + ".bias")

    def unembed(self, x):  # [T, V]
        return self.norm("ln_f", x) @ self.W_E().T


def gelu(x):
    """GELU by tanh ("gelu_new"): x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))."""
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


class Run:
    """A forward pass that keeps each term of the stream:

    x_final = W_E[token] + W_P[position] + sum_l (sum_h head_lh + b_O,l + sum_n neuron_ln + b_2,l).
    """

    def __init__(self, m, tokens):
        T = len(tokens)
        self.embedding, self.positions = m.W_E()[tokens], m.get("wpe.weight")[:T]  # [T, D]
        x = self.embedding + self.positions
        self.sites, self.streams = ["embedding"], [x]  # the stream after each sublayer
        self.patterns, self.heads, self.activations = [], [], []
        for l in range(m.L):
            pattern, heads = self.attend(m, l, x)
            self.patterns.append(pattern)  # [H, T, T]
            self.heads.append(heads)  # [H, T, D]
            x = x + heads.sum(axis=0) + m.get(f"h.{l}.attn.c_proj.bias")
            self.keep(f"blocks.{l}.attention", x)
            a = gelu(m.norm(f"h.{l}.ln_2", x) @ m.get(f"h.{l}.mlp.c_fc.weight") + m.get(f"h.{l}.mlp.c_fc.bias"))
            self.activations.append(a)  # [T, F]
            x = x + a @ m.W2(l) + m.get(f"h.{l}.mlp.c_proj.bias")
            self.keep(f"blocks.{l}.feedforward", x)
        self.final, self.logits = x, m.unembed(x)

    def keep(self, site, x):
        self.sites.append(site)
        self.streams.append(x)

    def attend(self, m, l, x):
        """head_h = A_h (LN(x) W_V,h + b_V,h) W_O,h, A_h = softmax over keys not after the query of q k^T / sqrt(Dh)."""
        n = m.norm(f"h.{l}.ln_1", x)
        q, k, v = [np.einsum("td,dhe->hte", n, W) + b[:, None] for W, b in m.qkv(l)]  # [H, T, Dh]
        scores = np.einsum("hte,hse->hts", q, k) / math.sqrt(m.Dh)
        scores = np.where(np.tril(np.ones(scores.shape[1:], bool)), scores, -np.inf)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        pattern = weights / weights.sum(axis=-1, keepdims=True)
        return pattern, np.einsum("hts,hse,hed->htd", pattern, v, m.W_O(l))


def attribution(m, run, ids):
    """Direct logit attribution at the last token: term u adds u C diag(g_f) d / sigma, sigma that of the whole stream;
    d = W_E[id], or the difference of two ids' rows. The norm's bias adds b_f d."""
    d = m.W_E()[ids[0]] - (m.W_E()[ids[1]] if len(ids) == 2 else 0)  # [D]
    direction = m.fold("ln_f", d[:, None])[:, 0] / m.sigma(run.final[-1])  # [D]
    neurons = [run.activations[l][-1] * (m.W2(l) @ direction) for l in range(m.L)]  # [L][F]
    out = {
        "ids": ids,
        "total": run.logits[-1, ids[0]] - (run.logits[-1, ids[1]] if len(ids) == 2 else 0),
        "embedding": run.embedding[-1] @ direction,
        "positions": run.positions[-1] @ direction,
        "heads": [heads[:, -1] @ direction for heads in run.heads],  # [L, H]
        "attention_bias": [m.get(f"h.{l}.attn.c_proj.bias") @ direction for l in range(m.L)],
        "neurons": {str(l): neurons[l] for l in (0, m.L - 1)},
        "feedforward": [n.sum() for n in neurons],
        "feedforward_bias": [m.get(f"h.{l}.mlp.c_proj.bias") @ direction for l in range(m.L)],
        "norm_bias": m.get("ln_f.bias") @ d,
    }
    parts = ["embedding", "positions", "heads", "attention_bias", "feedforward", "feedforward_bias", "norm_bias"]
    check("sum of the attribution", sum(np.sum(out[p]) for p in parts), out["total"], 1e-12)
    return out


def eigenvalues(A):
    """[n][2], by modulus, real part, imaginary part, all descending. Rounding does not decide between equals."""
    key = lambda z: tuple(-float(f"{v:.10g}") for v in (abs(z), z.real, z.imag))
    return [[z.real, z.imag] for z in sorted(np.linalg.eigvals(A).astype(complex), key=key)]


def score(values):
    """sum Re(lambda) / sum |lambda|: 1 when all are positive, -1 when all are negative."""
    return sum(v[0] for v in values) / sum(math.hypot(*v) for v in values)


def check_nonzero(what, values, whole):
    """The nonzero eigenvalues of A B [n, n] are those of B A [Dh, Dh]."""
    check(what, np.array(eigenvalues(whole))[: len(values)], values, 1e-6)


def circuit(m, l, h):
    W_Q, W_K, W_V = m.folded_qkv(l, h)
    W_O, W_E, W_U = m.W_O(l)[h], m.W_E(), m.W_U()
    whole = {  # [D, D], [D, D], [V, V], [V, V]
        "ov": W_V @ W_O,
        "qk": W_Q @ W_K.T,
        "full_ov": W_E @ W_V @ W_O @ W_U,
        "full_qk": W_E @ W_Q @ W_K.T @ W_E.T,
    }
    small = {"ov": W_O @ W_V, "qk": W_K.T @ W_Q, "full_ov": W_O @ W_U @ W_E @ W_V, "full_qk": W_K.T @ W_E.T @ W_E @ W_Q}
    scores = {"ov": "ov_score", "qk": "qk_score", "full_ov": "copying_score", "full_qk": "matching_score"}
    out = {"norms": {"w_q": norm(W_Q), "w_k": norm(W_K), "w_v": norm(W_V), "w_o": norm(W_O)}}
    for name, A in whole.items():
        values = eigenvalues(small[name])  # [Dh][2]
        check_nonzero(f"eigenvalues of {name} {l}.{h}", values, A)
        out[name + "_eigenvalues"], out[scores[name]], out["norms"][name] = values, score(values), norm(A)
    return out


def norm(A):
    return np.linalg.norm(A)  # Frobenius


def heads_of(m):
    return [(l, h) for l in range(m.L) for h in range(m.H)]


def composition(m):
    """Elhage et al. 2021, "Analyzing a Two-Layer Model": how much of what head i writes head j reads as query, key, value."""
    def circuits(l, h):
        W_Q, W_K, W_V = m.folded_qkv(l, h)
        return W_V @ m.W_O(l)[h], W_Q @ W_K.T

    out = []
    for i in heads_of(m):
        for j in heads_of(m):
            if i[0] < j[0]:
                (OV_i, _), (OV_j, QK_j) = circuits(*i), circuits(*j)
                out.append({
                    "from": list(i),
                    "to": list(j),
                    "q": norm(OV_i @ QK_j) / (norm(OV_i) * norm(QK_j)),
                    "k": norm(OV_i @ QK_j.T) / (norm(OV_i) * norm(QK_j)),
                    "v": norm(OV_i @ OV_j) / (norm(OV_i) * norm(OV_j)),
                })
    return out


def virtual_weights(m):
    """||A B|| and ||A B|| / (||A|| ||B||) for every writing weight A and every folded weight B that reads later.
    Depth: the embedding writes at -1, attention l works at 2l, feed-forward l at 2l + 1, the unembedding reads at 2L."""
    writers = [("embedding", -1, m.W_E()), ("positions", -1, m.get("wpe.weight"))]
    readers = []
    for l in range(m.L):
        for h in range(m.H):
            name = f"blocks.{l}.attention.{h}"
            writers.append((name, 2 * l, m.W_O(l)[h]))
            readers += [(f"{name}.{q}", 2 * l, W) for q, W in zip("qkv", m.folded_qkv(l, h))]
        writers.append((f"blocks.{l}.feedforward", 2 * l + 1, m.W2(l)))
        readers.append((f"blocks.{l}.feedforward", 2 * l + 1, m.W1(l)))
    readers.append(("unembedding", 2 * m.L, m.W_U()))
    return [
        {"writer": w, "reader": r, "norm": norm(A @ B), "score": norm(A @ B) / (norm(A) * norm(B))}
        for w, written, A in writers
        for r, read, B in readers
        if written < read
    ]


def neuron_cosines(W1, W2):  # W1 [D, F], W2 [F, D] -> [F]
    return np.einsum("dn,nd->n", W1, W2) / (np.linalg.norm(W1, axis=0) * np.linalg.norm(W2, axis=1))


def memory(m):
    """How much what is written lies along what is read: sum Re eig(OV) / (||W_V|| ||W_O||), which is
    trace(W_V W_O) / (||W_V|| ||W_O||), the eigenvalues being real or in conjugate pairs; the same of W1 W2."""
    heads = np.zeros((m.L, m.H))
    for l, h in heads_of(m):
        W_V, W_O = m.folded_qkv(l, h)[2], m.W_O(l)[h]
        heads[l, h] = sum(v[0] for v in eigenvalues(W_O @ W_V)) / (norm(W_V) * norm(W_O))
        check("trace of OV", np.trace(W_V @ W_O) / (norm(W_V) * norm(W_O)), heads[l, h], 1e-9)
    feedforward = [np.trace(m.W1(l) @ m.W2(l)) / (norm(m.W1(l)) * norm(m.W2(l))) for l in range(m.L)]
    return {"heads": heads, "feedforward": feedforward}


def kurtosis(x):  # [T, D] -> [D], m4 / m2^2 about the mean over tokens
    d = x - x.mean(axis=0)
    return np.mean(d**4, axis=0) / np.mean(d**2, axis=0) ** 2


def basis(m, run):
    singular = lambda A: np.linalg.svd(A, compute_uv=False)
    return {
        "kurtosis": kurtosis(run.final),
        "singular_values": {
            "o": [singular(m.get(f"h.{l}.attn.c_proj.weight")) for l in range(m.L)],
            "unembedding": singular(m.W_E().T),
            "unembedding_folded": singular(m.W_U()),
        },
    }


def induction(m):
    """tokens = [r, r]. An induction head at token i of the second copy looks at i - 8 + 1, the successor of the same id."""
    n = len(REPEATED)
    patterns = np.array(Run(m, REPEATED * 2).patterns)  # [L, H, 2n, 2n]
    return {
        "tokens": REPEATED * 2,
        "induction": np.mean([patterns[:, :, i, i - n + 1] for i in range(n, 2 * n)], axis=0),
        "previous": np.mean([patterns[:, :, i, i - 1] for i in range(1, 2 * n)], axis=0),
    }


def compute():
    m = Model(MODEL)
    expected = read_safetensors(MODEL / "expected.safetensors")
    tokens = expected["tokens"][0, :TOKENS].tolist()
    run = Run(m, tokens)
    check("logits", run.logits, expected["logits"][0, :TOKENS], 2e-5)
    lens = [m.unembed(x)[-1] for x in run.streams]
    check("last logits of the lens", lens[-1], run.logits[-1], 0)
    second, best = np.argsort(run.logits[-1])[-2:].tolist()
    return {
        "model": {"layers": m.L, "heads": m.H, "d_model": m.D, "head_dim": m.Dh, "ff": m.F, "vocab": m.V, "norm_eps": m.eps},
        "tokens": tokens,
        "final_stream": run.final,
        "logits": run.logits,
        "attribution": {"target": attribution(m, run, [best]), "difference": attribution(m, run, [best, second])},
        "lens": {"sites": run.sites, "logits": lens},
        "patterns": run.patterns,
        "circuits": [[circuit(m, l, h) for h in range(m.H)] for l in range(m.L)],
        "composition": composition(m),
        "virtual_weights": virtual_weights(m),
        "neurons": {"cosine": [neuron_cosines(m.W1(l), m.W2(l)) for l in range(m.L)]},
        "memory": memory(m),
        "basis": basis(m, run),
        "induction": induction(m),
    }


def plain(value):
    """Arrays as lists, floats at 12 significant digits."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(v) for v in value]
    if isinstance(value, (float, np.floating)):
        if not math.isfinite(value):
            raise SystemExit(f"want finite numbers, got {value}")
        return float(f"{value:.12g}") + 0.0
    return value


def main():
    text = json.dumps(plain(compute()), indent=1)
    text = re.sub(r"\[[^\[\]{}]*\]", lambda row: " ".join(row[0].split()), text)  # a row of numbers a line
    out = HERE / "gpt2-hf.json"
    out.write_text(text + "\n")
    print(f"{out.name}: {out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
