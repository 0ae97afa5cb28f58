"""Writes the folders next to this file: adapters that peft makes on the models of testdata/reference, and the
logits of base and adapters together. With an argument, it instead writes expected.safetensors into that folder of
adapters: python make.py [FOLDER BASE]. Made with peft 0.21.2, transformers 5.24.0, torch 2.15.0."""

import os
import sys

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM

here = os.path.dirname(os.path.abspath(__file__))


def expect(model, folder):
    tokens = torch.arange(2 * 20).reshape(2, 20).square() % 101
    with torch.no_grad():
        logits = model.eval()(tokens).logits
    save_file({"tokens": tokens.to(torch.int32), "logits": logits.contiguous()}, os.path.join(folder, "expected.safetensors"))


if len(sys.argv) > 1:
    folder, base = sys.argv[1:]
    expect(PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32), folder), folder)
    sys.exit()

for name, targets, more in [
    ("qwen3", ["q_proj", "k_proj", "v_proj", "down_proj"], {}),
    ("gpt2", ["c_attn", "c_fc"], {"fan_in_fan_out": True}),
]:
    torch.manual_seed(1)
    base = os.path.join("..", "reference", name + "-hf")
    model = AutoModelForCausalLM.from_pretrained(os.path.join(here, base), dtype=torch.float32)
    model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", r=2, lora_alpha=6, target_modules=targets, **more))
    for parameter in model.parameters():
        if parameter.requires_grad:
            torch.nn.init.normal_(parameter, std=0.3)
    model.peft_config["default"].base_model_name_or_path = base
    folder = os.path.join(here, name)
    model.save_pretrained(folder)
    os.remove(os.path.join(folder, "README.md"))
    expect(model, folder)
