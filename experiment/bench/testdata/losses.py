"""Trains a model of experiment/bench's scripts from given weights: losses.py jax_xla or losses.py pytorch.

Standard input is a JSON object: the model's config, its weights by their names in this project, tokens and their successors, and a
number of steps. It prints the losses before the steps.
"""
import json
import os
import sys
from types import SimpleNamespace

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numpy

import peer

NAMES = {"attention.norm": "norm1", "feedforward.norm": "norm2", "attention.qkv": "qkv", "attention.o": "out", "feedforward.w1": "inner",
         "feedforward.w2": "outer", "attention.read": "read_heads", "attention.write": "write_heads", "feedforward.read": "read_features",
         "feedforward.write": "write_features", "embedding": "tokens", "write_embedding": "write_tokens", "read_unembedding": "read"}


def features(entries, axis, o):
    """The features of an axis, R x Dv in this project and Dv x R in the scripts."""
    if o.stream == "vector":
        return entries
    shape = entries.shape
    return numpy.moveaxis(entries.reshape(*shape[:axis], o.rank, o.dv, *shape[axis + 1:]), axis + 1, axis).reshape(shape)


def weights(given, o):
    """The weights by the scripts' names, with the shapes of JAX's."""
    width = o.rank * o.dv if o.stream == "matrix" else o.width
    norm = (o.dk, o.dv) if o.stream == "matrix" else (width,)
    shapes = dict(norm1=norm, norm2=norm, norm=norm, read_heads=(3, o.rank, o.dk), qkv=(width, 3 * width), out=(width, width), inner=(width, o.ff), outer=(o.ff, width),
                  tokens=(o.vocab, width), positions=(o.seq, width), unembedding=(width, o.vocab))
    of_features = dict(inner=0, outer=1, tokens=1, positions=1, unembedding=0)
    all_weights = {}
    for name, values in given.items():
        block, _, rest = name.removeprefix("blocks.").partition(".")
        place, own = (f"blocks.{block}.", rest) if name.startswith("blocks.") else ("", name)
        own = NAMES.get(own, own)
        entries = numpy.asarray(values, numpy.float32).reshape(shapes.get(own, (o.rank, o.dk)))
        all_weights[place + own] = features(entries, of_features[own], o) if own in of_features else entries.T if "norm" in own else entries
    return all_weights


def in_jax(given, o):
    import jax
    import jax_xla
    training = jax_xla.Training(o)
    paths, tree = jax.tree_util.tree_flatten_with_path(training.p)
    names = [jax.tree_util.keystr(path, simple=True, separator=".") for path, _ in paths]
    assert sorted(names) == sorted(given) and all(given[n].shape == old.shape for n, (_, old) in zip(names, paths)), names
    training.p = jax.tree_util.tree_unflatten(tree, [jax.numpy.asarray(given[n]) for n in names])
    training.ids, training.targets = (jax.numpy.asarray(rows) for rows in (o.tokens, o.targets))
    return training


def in_pytorch(given, o):
    import pytorch
    import torch
    o.device, o.compile, o.padded = "cpu", False, o.vocab
    training = pytorch.Training(o)
    for name, p in training.model.named_parameters():
        entries = given.pop(name.removeprefix("ends.").replace("feedforward.", "").removesuffix(".weight").removesuffix(".gain"))
        if "read" in name:
            entries = entries.reshape(-1, o.dk).T
        elif name.endswith(".weight") and not name.startswith(("tokens", "positions")):
            entries = entries.T
        elif name.endswith(".gain"):
            entries = entries.flatten()
        assert entries.shape == tuple(p.shape), name
        p.data.copy_(torch.tensor(entries.copy()))
    assert not given, given.keys()
    training.ids, training.targets = (torch.tensor(rows) for rows in (o.tokens, o.targets))
    return training


given = json.load(sys.stdin)
o = SimpleNamespace(**peer.sizes(json.dumps(given["model"])), batch=given["batch"], seed=0, precision="fp32")
o.tokens, o.targets = (numpy.asarray(given[rows]).reshape(o.batch, o.seq) for rows in ("tokens", "targets"))
training = {"jax_xla": in_jax, "pytorch": in_pytorch}[sys.argv[1]](weights(given["weights"], o), o)
peer.say(losses=[float(training.step()[1]) for _ in range(given["steps"])])
