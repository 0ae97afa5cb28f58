"""Writes the folders beside it: what transformers 5.24.0 (torch 2.15, CPU) computes for small models of each class.

    python make.py [NAME ...]

A folder has config.json as save_pretrained writes it, tensors.json with the names, shapes and, where it is not F32, the type of
model.safetensors, and expected.safetensors with tokens [1, 16] and logits [1, 16, vocab] in float32. The weights are not kept: entry i
of a tensor is v = (h(i) >> 8) / 2^24 - 1/2 with

    h(i) = mix(i * 2654435761 + crc32(name)),   mix(x): x ^= x >> 16; x *= 0x85ebca6b; x ^= x >> 13     (mod 2^32)

and 1 + v/2 for a gain (a tensor of one axis whose name ends in "weight") that multiplies as it is, v/2 for one to which the class adds
1. Such numbers are exact in float32.
"""

import json
import os
import sys
import zlib

import numpy as np
import torch
import transformers
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM

assert transformers.__version__ == "5.24.0", transformers.__version__

SMALL = dict(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4, max_position_embeddings=64,
             bos_token_id=1, eos_token_id=2, pad_token_id=0)
GROUPED = dict(SMALL, num_key_value_heads=2)
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "rope_theta": 10000.0}
LONG = dict(rope_type="longrope", rope_theta=10000.0, short_factor=[1.0, 1.5], long_factor=[2.0, 6.0], original_max_position_embeddings=32)

MODELS = {
    "qwen2": ("Qwen2", dict(GROUPED, use_sliding_window=True, sliding_window=5, max_window_layers=1, tie_word_embeddings=True)),
    "qwen2-untied-bf16": ("Qwen2", dict(GROUPED, tie_word_embeddings=False, dtype="bfloat16")),
    "gpt_neox": ("GPTNeoX", dict(SMALL, rotary_pct=0.5)),
    "gpt_neox-serial": ("GPTNeoX", dict(SMALL, rotary_pct=0.25, use_parallel_residual=False, hidden_act="gelu_new", tie_word_embeddings=True)),
    "gemma2": ("Gemma2", dict(GROUPED, num_hidden_layers=4, head_dim=6, query_pre_attn_scalar=11, sliding_window=5, attn_logit_softcapping=2.0,
                              final_logit_softcapping=5.0)),
    "gemma3_text": ("Gemma3", dict(GROUPED, num_hidden_layers=4, head_dim=6, query_pre_attn_scalar=7, sliding_window=5,
                                   layer_types=["sliding_attention", "full_attention", "sliding_attention", "full_attention"])),
    "gemma3_text-scaled": ("Gemma3", dict(GROUPED, head_dim=6, sliding_window=5, layer_types=["sliding_attention"] * 2 + ["full_attention"],
                                          rope_parameters={"full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
                                                           "sliding_attention": {"rope_type": "default", "rope_theta": 100.0}})),
    "olmo2": ("Olmo2", GROUPED),
    "smollm3": ("SmolLM3", dict(GROUPED, no_rope_layers=[1, 0, 1], tie_word_embeddings=True)),
    "smollm3-window": ("SmolLM3", dict(GROUPED, num_hidden_layers=4, no_rope_layer_interval=2, use_sliding_window=True, sliding_window=5, attention_bias=True)),
    "granite": ("Granite", dict(GROUPED, embedding_multiplier=12.0, residual_multiplier=0.22, logits_scaling=8.0, attention_multiplier=0.5)),
    "granite-biases": ("Granite", dict(GROUPED, embedding_multiplier=2.0, attention_bias=True, mlp_bias=True, tie_word_embeddings=True)),
    "phi3": ("Phi3", dict(GROUPED, sliding_window=5)),
    "phi3-long": ("Phi3", dict(GROUPED, num_attention_heads=4, partial_rotary_factor=0.5, max_position_embeddings=128, original_max_position_embeddings=32,
                               rope_parameters=dict(LONG, partial_rotary_factor=0.5), tie_word_embeddings=True)),
    "nanochat": ("NanoChat", dict(GROUPED, bos_token_id=1, final_logit_softcapping=4.0)),
    "phi3-longer": ("Phi3", dict(GROUPED, num_hidden_layers=2, partial_rotary_factor=0.5, max_position_embeddings=128, original_max_position_embeddings=8,
                                 rope_parameters=dict(LONG, partial_rotary_factor=0.5, original_max_position_embeddings=8))),
    "llama-biases": ("Llama", dict(GROUPED, attention_bias=True, mlp_bias=True)),
    "llama-attention-bias": ("Llama", dict(GROUPED, attention_bias=True, tie_word_embeddings=True, rope_parameters=YARN)),
}
CONFIGS = {"Gemma3": "Gemma3TextConfig"}


def fill(name, shape, adds_one):
    i = np.arange(int(np.prod(shape)), dtype=np.uint64)
    x = (i * 2654435761 + zlib.crc32(name.encode())) & 0xFFFFFFFF
    x ^= x >> 16
    x = x * 0x85EBCA6B & 0xFFFFFFFF
    x ^= x >> 13
    v = (x >> 8).astype(np.float64) / 2**24 - 0.5
    if len(shape) == 1 and name.endswith("weight"):
        v = v / 2 if adds_one else 1 + v / 2
    return torch.from_numpy(v.astype(np.float32)).reshape(shape)


def make(name, kind, options):
    config = getattr(transformers, CONFIGS.get(kind, kind + "Config"))(**options)
    config._attn_implementation = "eager"
    model = getattr(transformers, kind + "ForCausalLM")(config).eval().float()
    bf16 = options.get("dtype") == "bfloat16"
    tied = set(model._tied_weights_keys or {}) if config.tie_word_embeddings else set()
    tensors = {}
    with torch.no_grad():
        for key, w in model.state_dict().items():
            if key in tied:
                continue
            if kind == "GPTNeoX" and key == "lm_head.weight":
                key = "embed_out.weight"  # as it is saved
            v = fill(key, tuple(w.shape), kind.startswith("Gemma"))
            w.copy_(v.bfloat16().float() if bf16 else v)
            tensors[key] = list(w.shape)
        model.tie_weights()
        tokens = torch.tensor([[(7 * i * i + 3 * i + 5) % config.vocab_size for i in range(16)]])
        logits = model(tokens, use_cache=False).logits.float()
    os.makedirs(name, exist_ok=True)
    config.save_pretrained(name)
    path = os.path.join(name, "config.json")
    saved = json.load(open(path))
    saved["architectures"] = [kind + "ForCausalLM"]
    with open(path, "w") as f:
        json.dump(saved, f, indent=1, sort_keys=True)
    with open(os.path.join(name, "tensors.json"), "w") as f:
        f.write(json.dumps({"dtype": "BF16" if bf16 else "F32", "adds_one": kind.startswith("Gemma"), "tensors": tensors}))
    save_file({"tokens": tokens.int(), "logits": logits.contiguous()}, os.path.join(name, "expected.safetensors"))
    print(f"{name:22} {len(tensors):3} tensors, largest logit {logits.abs().max():.3g}")


if __name__ == "__main__":
    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    for name in sys.argv[1:] or MODELS:
        make(name, *MODELS[name])
