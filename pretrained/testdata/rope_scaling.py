"""Writes rope-scaling.safetensors: transformers' logits for the first row of tokens of llama-hf, with scaled rotary positions.

python rope_scaling.py ../../testdata/reference/llama-hf   (torch, transformers and safetensors; transformers 5)
"""
import json
import sys

from safetensors.torch import load_file, save_file
from transformers import LlamaConfig, LlamaForCausalLM

SCALINGS = {
    "linear": {"rope_type": "linear", "factor": 4.0},
    "llama3": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 0.5, "high_freq_factor": 2.0, "original_max_position_embeddings": 64},
    "yarn": {"rope_type": "yarn", "factor": 4.0, "beta_fast": 4.0, "beta_slow": 0.1, "original_max_position_embeddings": 64},
    "yarn-defaults": {"rope_type": "yarn", "factor": 8.0},
}

folder = sys.argv[1]
tokens = load_file(folder + "/expected.safetensors")["tokens"][:1]
logits = {}
for name, scaling in SCALINGS.items():
    with open(folder + "/config.json") as f:
        config = json.load(f)
    config["rope_parameters"] = {"rope_theta": 5000.0, **scaling}
    model = LlamaForCausalLM(LlamaConfig(**config)).eval()
    missing = model.load_state_dict(load_file(folder + "/model.safetensors"))
    assert not missing.missing_keys and not missing.unexpected_keys
    logits[name] = model(tokens).logits[0].detach().contiguous()
save_file(logits, "rope-scaling.safetensors")
