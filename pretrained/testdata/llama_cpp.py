"""Loads each folder's model.gguf by llama.cpp (package xllamacpp) and compares the probabilities of the next token, after
some tokens of expected.safetensors, with the logits there; and what a text gives with what its ids of texts.json give.

Prints a line a folder: its name and the largest difference of a log probability.
"""

import json
import os
import sys

import numpy as np
import xllamacpp
from safetensors.numpy import load_file


def complete(server, prompt, vocab):
    r = server.handle_completions({"prompt": prompt, "n_predict": 1, "n_probs": vocab, "temperature": 0.0, "cache_prompt": False})
    return json.loads(r) if isinstance(r, (str, bytes)) else r


def log_probabilities(r):
    found = (r["choices"][0]["logprobs"] or {}).get("content")  # none where the next token is the end of text
    return {t["id"]: t["logprob"] for t in found[0]["top_logprobs"]} if found else None


for folder in sys.argv[1:]:
    p = xllamacpp.CommonParams()
    p.model.path = folder + "/model.gguf"
    p.n_ctx, p.n_parallel, p.warmup, p.cpuparams.n_threads = 256, 1, False, 1
    p.cache_type_k = p.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    p.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    server = xllamacpp.Server(p)
    expected = load_file(folder + "/expected.safetensors")
    tokens, logits = expected["tokens"][0].tolist(), expected["logits"][0].astype(np.float64)
    worst, compared = 0.0, 0
    for n in (5, 12, 20, 30):
        got = log_probabilities(complete(server, tokens[:n], logits.shape[1]))
        if got is None:
            continue
        compared += 1
        want = logits[n - 1] - np.log(np.exp(logits[n - 1]).sum())
        assert len(got) == logits.shape[1], len(got)
        worst = max(worst, max(abs(want[i] - v) for i, v in got.items()))
    assert compared > 1, compared
    for n, id in enumerate(greedy := expected["greedy"].tolist()):
        got = log_probabilities(complete(server, tokens[:5] + greedy[:n], logits.shape[1]))
        if got is None:
            break
        assert got[id] > max(got.values()) - 2 * worst, (folder, n, id, got[id], max(got.values()))
    with open(folder + "/texts.json") as f:
        for case in json.load(f):
            if len(case["ids"]) < 40:
                text = complete(server, case["text"], logits.shape[1])
                added = text["usage"]["prompt_tokens"] - len(case["ids"])  # a new server begins a text with BOS, as the file says
                assert added in (0, 1), (case["text"], text["usage"])
                ids = complete(server, added * [case["bos"]] + case["ids"], logits.shape[1])
                assert log_probabilities(text) == log_probabilities(ids), case["text"]
    print(json.dumps({"folder": os.path.basename(folder), "difference": worst}))
