#!/usr/bin/env python3
"""A GGUF file in llama.cpp (package xllamacpp), to be timed next to this project.

  llamacpp.py gpt2.gguf --prompt 500 --tokens 128 --threads 2

prints one line of JSON: the milliseconds in which a prompt of random tokens is read, up to the first token after it, and those of a
token that is decoded greedily after a prompt of 16. They are llama.cpp's own timings, without the server around it; its settings are
its defaults (a cache of keys and values in F16, flash attention where it chooses that), but for prompts kept from one call to the next.
With --serve it makes steps when bench asks for them (experiment/bench/child.go describes the lines).
"""
import json
import random
import urllib.request

import peer

import xllamacpp


def version():
    """The package's, and the processor's instructions that it was built for."""
    known = ("AVX2", "AVX512", "AVX512_VNNI", "AVX512_BF16", "AMX_INT8", "NEON", "SVE", "F16C", "FMA")
    parts = xllamacpp.get_system_info().replace(":", "|").split("|")
    built = [name.strip() for name, _, value in (p.partition("=") for p in parts) if value.strip() == "1"]
    return f"llama.cpp of xllamacpp {xllamacpp.__version__}, built for " + (" ".join(n for n in built if n in known) or "no vector instructions")


class Generation:
    """Greedy generation after random tokens, one text at a time."""

    def __init__(self, o):
        p = xllamacpp.CommonParams()
        p.model.path, p.n_ctx, p.n_parallel, p.warmup, p.n_gpu_layers = o.model, 0, 1, False, 0
        p.cpuparams.n_threads = p.cpuparams_batch.n_threads = o.threads
        self.o, self.server = o, xllamacpp.Server(p)
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(self.server.listening_address + "/v1/models") as models:
            meta = json.load(models)["data"][0]["meta"]
        self.parameters = meta["n_params"]
        draw = random.Random(1)
        # The last ids may be special ones.
        self.ids = [draw.randrange(meta["n_vocab"] - 1) for _ in range(max(o.prompt, o.after))]

    def timings(self, prompt, tokens):
        """llama.cpp's timings of reading a prompt and decoding some tokens."""
        request = {"prompt": self.ids[:prompt], "n_predict": tokens, "temperature": 0.0, "top_k": 1, "samplers": ["top_k"],
                   "ignore_eos": True, "cache_prompt": False}
        answer = self.server.handle_completions(request)
        answer = json.loads(answer) if isinstance(answer, (str, bytes)) else answer
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        t = answer["timings"]
        if (t["prompt_n"], t["predicted_n"]) != (prompt, tokens):
            raise RuntimeError(f"want {prompt} tokens read and {tokens} decoded, got {t['prompt_n']} and {t['predicted_n']}")
        return t

    def step(self):
        """Returns the seconds of a prompt, up to the first token after it, and of a token from the first one on."""
        prefill = self.timings(self.o.prompt, 1)["prompt_ms"]
        decoded = self.timings(self.o.after, self.o.tokens + 1)["predicted_ms"]
        return prefill / 1e3, decoded / 1e3 / self.o.tokens


def main():
    o = peer.parser(__doc__, "a GGUF file", prompt=500, tokens=128, after=16).parse_args()
    generation = Generation(o)
    peer.generate(generation, o, parameters=generation.parameters, version=version(), threads=o.threads)


if __name__ == "__main__":
    main()
