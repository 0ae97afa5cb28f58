"""Writes files of torch.save beside the folders: python torch_files.py (torch 2.15).

views.pt has tensors of every type that is read, views that share a storage, and strides; ckpt.pt is a nanoGPT of 2 layers, filled as
make.py fills models, as its train.py saves it, with nanogpt.safetensors: tokens and the logits that nanoGPT's equations give.
"""

import collections
import os

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

from make import fill

os.chdir(os.path.dirname(os.path.abspath(__file__)))
base = torch.arange(24, dtype=torch.float32) / 8
views = {"whole": base, "shared": base[4:16].view(3, 4), "turned": base.view(4, 6).t(), "every": base[::3], "one": torch.tensor(7.0), "none": torch.zeros(0, 3),
         "parameter": torch.nn.Parameter(base[:2]), "half": base[:3].half(), "bfloat": base[:3].bfloat16(), "double": base[:3].double(), "long": torch.arange(3),
         "int": torch.arange(3, dtype=torch.int32), "byte": torch.arange(3, dtype=torch.uint8), "mask": torch.ones(2, dtype=torch.bool)}
torch.save(views, "views.pt")

ARGS = dict(n_layer=2, n_head=2, n_embd=16, block_size=16, bias=True, vocab_size=64, dropout=0.0)
shapes = {"transformer.wte.weight": (64, 16), "transformer.wpe.weight": (16, 16), "transformer.ln_f.weight": (16,), "transformer.ln_f.bias": (16,)}
for i in range(2):
    for name, shape in {"ln_1": (16,), "attn.c_attn": (48, 16), "attn.c_proj": (16, 16), "ln_2": (16,), "mlp.c_fc": (64, 16), "mlp.c_proj": (16, 64)}.items():
        shapes[f"transformer.h.{i}.{name}.weight"], shapes[f"transformer.h.{i}.{name}.bias"] = shape, shape[:1]
w = {name: fill(name, shape, False) for name, shape in shapes.items()}
state = collections.OrderedDict(("_orig_mod." + k, v) for k, v in w.items())
state._metadata = collections.OrderedDict({"": {"version": 1}})
state["_orig_mod.lm_head.weight"] = state["_orig_mod.transformer.wte.weight"]
torch.save({"model": state, "optimizer": {"state": {}, "param_groups": [{"lr": 1e-3, "betas": (0.9, 0.95)}]}, "model_args": ARGS, "iter_num": 3,
            "best_val_loss": torch.tensor(2.5), "config": {"out_dir": "out", "compile": True}}, "ckpt.pt")

tokens = torch.tensor([[(7 * i * i + 3 * i + 5) % 64 for i in range(16)]])
norm = lambda x, name: F.layer_norm(x, (16,), w[name + ".weight"], w[name + ".bias"], 1e-5)
linear = lambda x, name: F.linear(x, w[name + ".weight"], w[name + ".bias"])
x = w["transformer.wte.weight"][tokens] + w["transformer.wpe.weight"]
for i in range(2):
    h = f"transformer.h.{i}."
    q, k, v = (t.view(1, 16, 2, 8).transpose(1, 2) for t in linear(norm(x, h + "ln_1"), h + "attn.c_attn").split(16, dim=2))
    y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(1, 16, 16)
    x = x + linear(y, h + "attn.c_proj")
    x = x + linear(F.gelu(linear(norm(x, h + "ln_2"), h + "mlp.c_fc")), h + "mlp.c_proj")
logits = norm(x, "transformer.ln_f") @ w["transformer.wte.weight"].t()
save_file({"tokens": tokens.int(), "logits": logits.contiguous()}, "nanogpt.safetensors")
