"""Loads each folder's model.gguf by llama.cpp (package xllamacpp) and compares the probabilities of the next token, after
some tokens of expected.safetensors, with the logits there; and what a text gives with what its ids of texts.json give. Of the 12
likeliest tokens after a prompt, each that leads by more than twice the largest difference must be llama.cpp's likeliest, too.

A folder that also has a config.json is loaded by transformers, with GELU looked up in a table of F16 as ggml does.

Prints a line a folder: its name, the largest difference of a log probability, that from the model with the table, and how many of the
12 tokens lead by so much.
"""

import json
import os
import sys

import numpy as np
import xllamacpp
from safetensors.numpy import load_file


def complete(server, prompt, vocab):
    """The answer to a prompt, which is one character of ASCII: bytes that are none, and the end of a text, have no probabilities."""
    r = server.handle_completions({"prompt": prompt, "n_predict": 1, "n_probs": vocab, "temperature": 0.0, "cache_prompt": False, "logit_bias": [[40, 1000.0]]})
    return json.loads(r) if isinstance(r, (str, bytes)) else r


def log_probabilities(r):
    found = r["choices"][0]["logprobs"]["content"]
    return {t["id"]: t["logprob"] for t in found[0]["top_logprobs"]}  # the model's own, before the bias


def of_logits(logits):
    logits = logits.astype(np.float64)
    logits -= logits.max(-1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def with_table(folder, tokens):
    """The log probabilities [token, V] of a folder's model whose GELU is ggml's: of the F16 nearest to x, rounded to F16."""
    import torch
    from transformers import AutoModelForCausalLM

    class Table(torch.nn.Module):
        def forward(self, x):
            h = x.half().float()
            y = (0.5 * h * (1 + torch.tanh(0.7978845608 * h * (1 + 0.044715 * h * h)))).half().float()
            return torch.where(x <= -10, 0, torch.where(x >= 10, x, y))

    model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()
    for module in model.modules():
        for name in ("act", "act_fn"):
            if "gelu" in str(getattr(module, name, "")).lower():
                setattr(module, name, Table())
    with torch.no_grad():
        return of_logits(model(torch.tensor([tokens])).logits[0].numpy())


def difference(got, want):
    return max(abs(want[i] - v) for i, v in got.items())


for folder in sys.argv[1:]:
    p = xllamacpp.CommonParams()
    p.model.path = folder + "/model.gguf"
    p.n_ctx, p.n_parallel, p.warmup, p.cpuparams.n_threads = 256, 1, False, 1
    p.cache_type_k = p.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    p.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    server = xllamacpp.Server(p)
    expected = load_file(folder + "/expected.safetensors")
    tokens, want = expected["tokens"][0].tolist(), of_logits(expected["logits"][0])
    vocab = want.shape[1]
    table = with_table(folder, tokens) if os.path.exists(folder + "/config.json") else None
    worst, tabled = 0.0, 0.0
    for n in (5, 12, 20, 30):
        got = log_probabilities(complete(server, tokens[:n], vocab))
        assert len(got) == vocab, len(got)
        worst = max(worst, difference(got, want[n - 1]))
        if table is not None:
            tabled = max(tabled, difference(got, table[n - 1]))
    greedy, steps = expected["greedy"].tolist(), of_logits(expected["greedy_logits"])
    answers = [log_probabilities(complete(server, tokens[:5] + greedy[:n], vocab)) for n in range(len(greedy))]
    worst = max([worst] + [difference(got, step) for got, step in zip(answers, steps)])
    leads = 0
    for n, (got, step) in enumerate(zip(answers, steps)):
        if np.sort(step)[-1] - np.sort(step)[-2] > 2 * worst:
            leads += 1
            assert max(got, key=got.get) == greedy[n], (folder, n, greedy, max(got, key=got.get))
    with open(folder + "/texts.json") as f:
        for case in json.load(f):
            if len(case["ids"]) < 40:
                text = complete(server, case["text"], vocab)
                added = text["usage"]["prompt_tokens"] - len(case["ids"])  # a new server begins a text with BOS, as the file says
                assert added in (0, 1), (case["text"], text["usage"])
                ids = complete(server, added * [case["bos"]] + case["ids"], vocab)
                assert log_probabilities(text) == log_probabilities(ids), case["text"]
    print(json.dumps({"folder": os.path.basename(folder), "difference": worst, "table": tabled, "leads": leads}))
