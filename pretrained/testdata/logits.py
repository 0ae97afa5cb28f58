"""Loads each folder of the arguments by transformers and compares its logits with those in the folder's expected.safetensors.

Prints a line a folder: its name, max |difference| / max |logit|, and whether the tokenizer gives texts the ids that our models read.
"""

import json
import os
import sys
import warnings

warnings.simplefilter("ignore")
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer, logging

logging.set_verbosity_error()
for folder in sys.argv[1:]:
    model = AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True).eval()
    expected = load_file(os.path.join(folder, "expected.safetensors"))
    with torch.no_grad():
        logits = model(expected["tokens"].long()).logits
    want = expected["logits"].reshape(logits.shape)
    prompt = expected["tokens"][:1, :5].long()
    generated = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=12, do_sample=False, pad_token_id=0, eos_token_id=None)
    if "greedy" in expected:
        assert generated[0, 5:].tolist() == expected["greedy"].tolist(), (folder, generated, expected["greedy"])
    text = "same"
    if os.path.exists(os.path.join(folder, "tokenizer.json")):
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
        with open(os.path.join(folder, "texts.json")) as f:
            for case in json.load(f):
                got = tokenizer(case["text"])["input_ids"]
                if got != case["ids"] or tokenizer.decode(got, skip_special_tokens=True) != case["text"]:
                    text = f"other ids of {case['text']!r}: {got}, want {case['ids']}"
    difference = (logits - want).abs().max() / want.abs().max()
    print(json.dumps({"folder": os.path.basename(folder), "difference": difference.item(), "text": text}))
