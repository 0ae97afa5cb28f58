#!/usr/bin/env python3
"""Path patching and integrated gradients of testdata/reference/gpt2-hf, by transformers and torch.

Writes gpt2-patching.json next to this file; README.md lists its keys. In float64.
"""

import json
import pathlib

import torch
import transformers

HERE = pathlib.Path(__file__).resolve().parent
CLEAN = [5, 92, 17, 64, 110, 38, 71, 26]
CORRUPT = [5, 92, 17, 3, 110, 38, 71, 26]
TARGET, AGAINST = 11, 40
POINTS = 16

model = transformers.GPT2LMHeadModel.from_pretrained(HERE.parent / "reference" / "gpt2-hf", attn_implementation="eager")
model = model.double().eval()
blocks, heads, width = model.transformer.h, model.config.n_head, model.config.n_embd
size = width // heads


def run(ids, hold=None, keep=None):
    """The metric of a run in which hold, by name, replaces what modules give; keep collects what they give."""
    hooks = []

    def replace(name):
        def before(_, inputs):  # what the heads give is what the output matrix reads
            x = hold[name] if hold and name in hold else inputs[0]
            if keep is not None:
                keep[name] = x.detach().clone()
            return (x,)

        def after(_, inputs, output):
            x = output
            if hold and name in hold:
                x = hold[name]
            if keep is not None:
                keep[name] = x.detach().clone()
            return x

        return before, after

    for i, block in enumerate(blocks):
        hooks.append(block.attn.c_proj.register_forward_pre_hook(replace(f"heads{i}")[0]))
        hooks.append(block.mlp.register_forward_hook(replace(f"mlp{i}")[1]))
        hooks.append(block.attn.c_attn.register_forward_hook(replace(f"qkv{i}")[1]))
    hooks.append(model.transformer.drop.register_forward_hook(replace("embedding")[1]))
    try:
        logits = model(torch.tensor([ids])).logits[0, -1]
    finally:
        for h in hooks:
            h.remove()
    return logits[TARGET] - logits[AGAINST]


clean, corrupt = {}, {}
with torch.no_grad():
    metric_clean, metric_corrupt = run(CLEAN, keep=clean).item(), run(CORRUPT, keep=corrupt).item()


def paths(receiver):
    """Effects [layer][head] on the way to the queries of head 1 of layer 1, or to the logits."""
    table = []
    for layer in range(len(blocks)):
        row = []
        for head in range(heads):
            hold = {n: v.clone() for n, v in corrupt.items() if n.startswith(("heads", "mlp"))}
            part = slice(head * size, (head + 1) * size)
            hold[f"heads{layer}"][..., part] = clean[f"heads{layer}"][..., part]
            seen = {}
            with torch.no_grad():
                metric = run(CORRUPT, hold, seen)
                if receiver == "q":
                    qkv = corrupt["qkv1"].clone()
                    qkv[..., size : 2 * size] = seen["qkv1"][..., size : 2 * size]
                    metric = run(CORRUPT, {"qkv1": qkv})
            row.append((metric.item() - metric_corrupt) / (metric_clean - metric_corrupt))
        table.append(row)
    return table


def integrated(name):
    """Effects of each token of an activation, by gradients at the middles of POINTS equal parts."""
    difference, total = clean[name] - corrupt[name], torch.zeros_like(clean[name])
    for point in range(POINTS):
        at = (corrupt[name] + (point + 0.5) / POINTS * difference).requires_grad_()
        total += torch.autograd.grad(run(CORRUPT, {name: at}), at)[0] / POINTS
    return ((total * difference).sum(-1)[0] / (metric_clean - metric_corrupt)).tolist()


def rounded(x):
    return [rounded(v) for v in x] if isinstance(x, list) else float(f"{x:.12g}")


out = {"clean": CLEAN, "corrupt": CORRUPT, "target": TARGET, "against": AGAINST, "points": POINTS,
       "metric_clean": metric_clean, "metric_corrupt": metric_corrupt, "to_logits": rounded(paths("logits")), "to_q": rounded(paths("q")),
       "embedding": rounded(integrated("embedding")), "feedforward": rounded(integrated("mlp0"))}
(HERE / "gpt2-patching.json").write_text(json.dumps(out, indent=1) + "\n")
