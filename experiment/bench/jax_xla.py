#!/usr/bin/env python3
"""The RMT and the transformer of this project in JAX, compiled by XLA for the CPU, to be timed next to it.

Both are written the way a JAX user would: pure functions of a tree of parameters, einsum for READ and WRITE,
jax.nn.dot_product_attention, optax.adamw, and one jit of the whole step, whose parameters and moments are donated. The models are
those of pytorch.py, entry by entry.

  jax_xla.py '{"layers": 6, "vocab": 50257, "seq": 256, "stream": {"kind": "matrix", "dk": 32, "dv": 32,
              "rank": 12}, "feedforward": {"kind": "gelu", "hidden": 1536}}' --batch 8

takes a model as pytorch.py does and prints one line of JSON; with --serve it makes steps when bench asks for them.
--precision bf16 computes in bfloat16, but norms, softmax and loss in float32; weights and AdamW have 32 bits.
"""
import math
import os
import time

import jax
import numpy
import optax
from jax import numpy as jnp

import peer

Z_LOSS = 1e-4


def norm(x, gain):
    """LayerNorm over a gain's axes jointly, without a bias."""
    axes, wide = tuple(range(-gain.ndim, 0)), x.astype(jnp.float32)
    centred = wide - wide.mean(axes, keepdims=True)
    return (centred * jax.lax.rsqrt(jnp.square(centred).mean(axes, keepdims=True) + 1e-6) * gain).astype(x.dtype)


def attend(q, k, v, layer):
    """Causal attention of heads [batch, token, head, entry]."""
    return jax.nn.dot_product_attention(q, k, v, scale=1 / (math.sqrt(q.shape[-1]) * (layer + 1)), is_causal=True)


class Vector:
    """A transformer: the stream is [batch, token, width]."""

    def __init__(self, o):
        self.o, self.width = o, o.width

    def ends(self, draw):
        return dict(norm=jnp.ones(self.width))

    def block(self, draw):
        w = self.width
        return dict(norm1=jnp.ones(w), qkv=draw(w, 3 * w), out=draw(w, w), norm2=jnp.ones(w))

    def enter(self, p, tokens, positions):
        return tokens + positions

    def attention(self, p, h, layer):
        packed = (norm(h, p["norm1"]) @ p["qkv"]).reshape(*h.shape[:2], 3, self.o.heads, -1)
        q, k, v = jnp.moveaxis(packed, 2, 0)
        return h + attend(q, k, v, layer).reshape(h.shape) @ p["out"]

    def features(self, p, h):
        return norm(h, p["norm2"])

    def write(self, p, h, out):
        return h + out

    def leave(self, p, h):
        return norm(h, p["norm"])


class Matrix:
    """An RMT: the stream is [batch, token, Dv, Dk], keys are [R, Dk], features [batch, token, Dv, R]."""

    def __init__(self, o):
        self.o, self.width = o, o.rank * o.dv

    def ends(self, draw):
        o = self.o
        return dict(write_tokens=draw(o.rank, o.dk), write_positions=draw(o.rank, o.dk), norm=jnp.ones((o.dv, o.dk)),
                    read=draw(o.rank, o.dk, fan=o.dk))

    def block(self, draw):
        o = self.o
        return dict(norm1=jnp.ones((o.dv, o.dk)), read_heads=draw(3, o.rank, o.dk, fan=o.dk), write_heads=draw(o.rank, o.dk),
                    norm2=jnp.ones((o.dv, o.dk)), read_features=draw(o.rank, o.dk, fan=o.dk), write_features=draw(o.rank, o.dk))

    def stored(self, features, keys):
        """Features [batch, token, Dv * R], written by keys."""
        return jnp.einsum("btvr,rk->btvk", features.reshape(*features.shape[:2], self.o.dv, self.o.rank), keys)

    def read(self, x, keys):
        return jnp.einsum("btvk,rk->btvr", x, keys).reshape(*x.shape[:2], -1)

    def enter(self, p, tokens, positions):
        return self.stored(tokens, p["write_tokens"]) + self.stored(positions, p["write_positions"])

    def attention(self, p, x, layer):
        q, k, v = jnp.einsum("btvk,crk->cbtrv", norm(x, p["norm1"]), p["read_heads"])
        return x + jnp.einsum("btrv,rk->btvk", attend(q, k, v, layer), p["write_heads"])

    def features(self, p, x):
        return self.read(norm(x, p["norm2"]), p["read_features"])

    def write(self, p, x, out):
        return x + self.stored(out, p["write_features"])

    def leave(self, p, x):
        return self.read(norm(x, p["norm"]), p["read"])


class LanguageModel:
    """The functions of a model; its parameters are a tree of arrays."""

    def __init__(self, o):
        self.o, self.stream = o, (Matrix if o.stream == "matrix" else Vector)(o)
        self.dtype = jnp.bfloat16 if o.precision == "bf16" else jnp.float32

    def parameters(self, seed):
        random = numpy.random.default_rng(seed)

        def draw(*shape, fan=None, std=None):
            return jnp.asarray(random.standard_normal(shape, numpy.float32) * (std or (fan or shape[0]) ** -0.5))

        o, width = self.o, self.stream.width
        blocks = [dict(self.stream.block(draw), inner=draw(width, o.ff), outer=draw(o.ff, width)) for _ in range(o.layers)]
        return dict(self.stream.ends(draw), blocks=blocks, tokens=draw(o.vocab, width, std=0.02), positions=draw(o.seq, width, std=0.02),
                    unembedding=draw(width, o.vocab))

    def loss(self, p, ids, targets):
        p = jax.tree.map(lambda entries: entries.astype(self.dtype), p)
        x = self.stream.enter(p, p["tokens"][ids], p["positions"][None])
        for layer, block in enumerate(p["blocks"]):
            x = self.stream.attention(block, x, layer)
            inner = jax.nn.gelu(self.stream.features(block, x) @ block["inner"], approximate=self.o.gelu == "tanh")
            x = self.stream.write(block, x, inner @ block["outer"])
        logits = (self.stream.leave(p, x) @ p["unembedding"]).astype(jnp.float32)
        log_z = jax.nn.logsumexp(logits, axis=-1)
        of_target = jnp.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
        return (log_z - of_target + Z_LOSS * jnp.square(log_z)).mean()


class Training:
    """Full steps on one batch of random tokens: forward, backward, AdamW."""

    def __init__(self, o):
        self.model, self.version = LanguageModel(o), f"jax {jax.__version__}"
        self.p = self.model.parameters(o.seed)
        optimizer = optax.adamw(1e-3, b1=0.9, b2=0.95, weight_decay=1e-4)
        self.moments = optimizer.init(self.p)
        rows = numpy.random.default_rng(o.seed).integers(o.vocab, size=(o.batch, o.seq + 1))
        self.ids, self.targets = jnp.asarray(rows[:, :-1]), jnp.asarray(rows[:, 1:])

        def update(p, moments, ids, targets):
            loss, gradients = jax.value_and_grad(self.model.loss)(p, ids, targets)
            changes, moments = optimizer.update(gradients, moments, p)
            return optax.apply_updates(p, changes), moments, loss

        self.update = jax.jit(update, donate_argnums=(0, 1))

    def parameters(self):
        return sum(entries.size for entries in jax.tree.leaves(self.p))

    def warmed_up(self):
        pass

    def peak_bytes(self):
        return peer.peak_bytes()

    def step(self):
        """Returns the seconds of a step and its loss."""
        begin = time.perf_counter()
        self.p, self.moments, loss = jax.block_until_ready(self.update(self.p, self.moments, self.ids, self.targets))
        return time.perf_counter() - begin, loss


def limit_threads(n):
    """Sets the size of XLA's pool of threads, which it makes at the first computation. No flag of XLA's does it."""
    os.environ["NPROC"] = str(n)


def main():
    p = peer.parser(__doc__, "a model's config as JSON", batch=8, seed=0)
    p.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    o = p.parse_args()
    vars(o).update(peer.sizes(o.model))
    limit_threads(o.threads)
    peer.train(Training(o), o)


if __name__ == "__main__":
    main()
