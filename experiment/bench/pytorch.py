#!/usr/bin/env python3
"""The RMT and the transformer of this project in PyTorch, to be timed next to it.

Both are written the way a PyTorch user would: whole-tensor operations, einsum-like products
for READ and WRITE, scaled_dot_product_attention, torch.optim.AdamW. Pre-norm LayerNorm
without bias, learned positions, attention logits over (layer + 1), untied unembedding,
cross-entropy with z-loss 1e-4.

  pytorch.py '{"layers": 6, "vocab": 50257, "seq": 256, "stream": {"kind": "matrix", "dk": 32, "dv": 32,
              "rank": 12}, "feedforward": {"kind": "gelu", "hidden": 1536}}' --batch 8 [--compile]

takes a model as package experiment/bench writes it, of the stream's kind matrix (the RMT) or vector (the transformer,
"stream": {"kind": "vector", "d_model": 384}, "attention": {"heads": 12}), and prints one line of JSON: parameters, median milliseconds a step, tokens a second, the first
loss and the peak of resident memory. With --serve it makes steps when bench asks for
them (experiment/bench/child.go describes the lines); `pytorch.py gemm --serve` times products,
and with --prompt, reading a prompt and decoding by Hugging Face's GPT2LMHeadModel of that size.

--device cuda trains on a GPU, in --precision fp32 (no tensor cores), tf32 or bf16 (autocast,
weights and AdamW in 32 bits), with AdamW's fused form; a step's time ends when the GPU has
done it, and the peak of memory is PyTorch's max_memory_allocated of the steps. --pad-vocab 64 gives embedding and
unembedding rows up to a multiple of 64, which no token has, for the sake of tensor cores; parameters are counted without.
"""
import math
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

import peer

Z_LOSS = 1e-4
VERSION = "torch " + torch.__version__


class Norm(nn.Module):
    """LayerNorm over the last axes jointly, with a gain and no bias. The gain is flat: the backward pass that PyTorch 2.11 compiles
    for CUDA returns a flat gradient of a gain of two axes, which autograd refuses."""

    def __init__(self, *shape):
        super().__init__()
        self.axes, self.gain = len(shape), nn.Parameter(torch.ones(math.prod(shape)))

    def forward(self, x):
        return F.layer_norm(x.flatten(-self.axes), self.gain.shape, self.gain, None, 1e-6).reshape(x.shape)


def normal(*shape, std):
    return nn.Parameter(torch.randn(shape) * std)


def hidden(inputs, outputs):
    """A linear map without bias."""
    return nn.Linear(inputs, outputs, bias=False)


class FeedForward(nn.Module):
    def __init__(self, o, width):
        super().__init__()
        self.inner, self.outer = hidden(width, o.ff), hidden(o.ff, width)
        self.form = "tanh" if o.gelu == "tanh" else "none"

    def forward(self, u):
        return self.outer(F.gelu(self.inner(u), approximate=self.form))


def dense(x):
    """Makes a head's entries contiguous: otherwise PyTorch uses its slow attention on a GPU."""
    return x.contiguous() if x.is_cuda and x.stride(-1) != 1 else x


def attend(q, k, v, layer):
    """Causal attention of heads [batch, head, token, entry]."""
    scale = 1 / (math.sqrt(q.size(-1)) * (layer + 1))
    q, k, v = dense(q), dense(k), dense(v)
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=scale)


class VectorBlock(nn.Module):
    """A transformer's block: the stream is [batch, token, width]."""

    def __init__(self, o, layer):
        super().__init__()
        self.layer, self.heads = layer, o.heads
        self.norm1, self.norm2 = Norm(o.width), Norm(o.width)
        self.qkv, self.out = hidden(o.width, 3 * o.width), hidden(o.width, o.width)
        self.feedforward = FeedForward(o, o.width)

    def forward(self, h):
        batch, tokens, width = h.shape
        packed = self.qkv(self.norm1(h)).view(batch, tokens, 3, self.heads, width // self.heads)
        q, k, v = packed.permute(2, 0, 3, 1, 4)
        mixed = attend(q, k, v, self.layer).transpose(1, 2).reshape(batch, tokens, width)
        h = h + self.out(mixed)
        return h + self.feedforward(self.norm2(h))


class MatrixBlock(nn.Module):
    """An RMT's block: the stream is [batch, token, Dv, Dk], so that READ and WRITE are
    products with keys [Dk, R] and [R, Dk] from the right."""

    def __init__(self, o, layer):
        super().__init__()
        self.layer, self.rank, self.dv = layer, o.rank, o.dv
        self.norm1, self.norm2 = Norm(o.dv, o.dk), Norm(o.dv, o.dk)
        read, write = 1 / math.sqrt(o.dk), 1 / math.sqrt(o.rank)
        self.read_heads, self.write_heads = normal(o.dk, 3 * o.rank, std=read), normal(o.rank, o.dk, std=write)
        self.read_features, self.write_features = normal(o.dk, o.rank, std=read), normal(o.rank, o.dk, std=write)
        self.feedforward = FeedForward(o, o.rank * o.dv)

    def forward(self, x):
        batch, tokens = x.shape[:2]
        packed = (self.norm1(x) @ self.read_heads).view(batch, tokens, self.dv, 3, self.rank)
        q, k, v = packed.permute(3, 0, 4, 1, 2)  # each [batch, head, token, Dv]
        x = x + attend(q, k, v, self.layer).permute(0, 2, 3, 1) @ self.write_heads
        u = (self.norm2(x) @ self.read_features).flatten(2)
        return x + self.feedforward(u).view(batch, tokens, self.dv, self.rank) @ self.write_features


class VectorEnds(nn.Module):
    """The ways in and out of a transformer."""

    def __init__(self, o):
        super().__init__()
        self.norm = Norm(o.width)

    def enter(self, tokens, positions):
        return tokens + positions

    def leave(self, h):
        return self.norm(h)


class MatrixEnds(nn.Module):
    """The ways in and out of an RMT: embeddings are written, features are read."""

    def __init__(self, o):
        super().__init__()
        self.shape = (o.dv, o.rank)
        self.norm = Norm(o.dv, o.dk)
        std = 1 / math.sqrt(o.rank)
        self.write_tokens, self.write_positions = normal(o.rank, o.dk, std=std), normal(o.rank, o.dk, std=std)
        self.read = normal(o.dk, o.rank, std=1 / math.sqrt(o.dk))

    def enter(self, tokens, positions):
        return tokens.unflatten(-1, self.shape) @ self.write_tokens + positions.unflatten(-1, self.shape) @ self.write_positions

    def leave(self, x):
        return (self.norm(x) @ self.read).flatten(2)


class LanguageModel(nn.Module):
    """forward returns the loss of predicting targets."""

    def __init__(self, o):
        super().__init__()
        matrix = o.stream == "matrix"
        width = o.rank * o.dv if matrix else o.width
        self.tokens, self.positions = nn.Embedding(o.padded, width), nn.Embedding(o.seq, width)
        nn.init.normal_(self.tokens.weight, std=0.02)
        nn.init.normal_(self.positions.weight, std=0.02)
        ends, block = (MatrixEnds, MatrixBlock) if matrix else (VectorEnds, VectorBlock)
        self.ends = ends(o)
        self.blocks = nn.ModuleList(block(o, layer) for layer in range(o.layers))
        self.unembedding = hidden(width, o.padded)

    def forward(self, ids, targets):
        x = self.ends.enter(self.tokens(ids), self.positions(torch.arange(ids.size(1), device=ids.device)))
        for block in self.blocks:
            x = block(x)
        logits = self.unembedding(self.ends.leave(x)).flatten(0, 1)
        log_z = torch.logsumexp(logits, -1)
        return F.cross_entropy(logits, targets.flatten()) + Z_LOSS * log_z.square().mean()


class Device:
    """What the model trains on, and how its matrices are multiplied."""

    def __init__(self, o):
        self.name, self.gpu, self.bf16 = o.device, o.device == "cuda", o.precision == "bf16"
        torch.set_float32_matmul_precision("high" if o.precision == "tf32" else "highest")

    def precision(self):
        return torch.autocast(self.name, torch.bfloat16, enabled=self.bf16)

    def wait(self):
        """Waits until all work that was started is done."""
        if self.gpu:
            torch.cuda.synchronize()

    def forget_peak(self):
        """Begins a new peak of a GPU's memory; the process's own cannot be reset."""
        if self.gpu:
            torch.cuda.reset_peak_memory_stats()

    def peak_bytes(self):
        return torch.cuda.max_memory_allocated() if self.gpu else peer.peak_bytes()


class Training:
    """Full steps on one batch of random tokens: gradients to nothing, forward, backward, AdamW."""

    version = VERSION

    def __init__(self, o):
        torch.manual_seed(o.seed)
        self.device, self.vocab, self.padded = Device(o), o.vocab, o.padded
        with torch.device(o.device):
            self.model = LanguageModel(o)
            rows = torch.randint(o.vocab, (o.batch, o.seq + 1))
        self.call = torch.compile(self.model) if o.compile else self.model
        self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-3, betas=(0.9, 0.95), weight_decay=1e-4,
                                           fused=self.device.gpu or None)
        self.ids, self.targets = rows[:, :-1].contiguous(), rows[:, 1:].contiguous()

    def parameters(self):
        return sum(p.numel() // self.padded * self.vocab if p.shape[0] == self.padded else p.numel() for p in self.model.parameters())

    def warmed_up(self):
        self.device.forget_peak()

    def peak_bytes(self):
        return self.device.peak_bytes()

    def step(self):
        """Returns the seconds of a step and its loss."""
        begin = time.perf_counter()
        self.optimizer.zero_grad(set_to_none=True)
        with self.device.precision():
            loss = self.call(self.ids, self.targets)
        loss.backward()
        self.optimizer.step()
        self.device.wait()
        return time.perf_counter() - begin, loss.detach()


class Clock:
    """A streamer: the time at which generate hands it the prompt, then each token."""

    def __init__(self):
        self.times = []

    def put(self, _):
        self.times.append(time.perf_counter())

    def end(self):
        pass


class Generation:
    """Greedy generation by Hugging Face's transformers on the CPU, in float32 or with weights in bfloat16, with a cache of keys and values."""

    def __init__(self, o):
        import transformers
        torch.manual_seed(o.seed)
        sizes = dict(vocab_size=o.vocab, n_positions=o.seq, n_embd=o.width, n_layer=o.layers, n_head=o.heads, n_inner=o.ff)
        self.model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes, bos_token_id=None, eos_token_id=None)).eval()
        if o.precision == "bf16":
            self.model = self.model.to(torch.bfloat16)
        self.o, self.ids = o, torch.randint(o.vocab, (1, max(o.prompt, o.after)))
        self.version = f"transformers {transformers.__version__}, torch {torch.__version__}"

    @torch.inference_mode()
    def generate(self, prompt, tokens):
        ids, clock = self.ids[:, :prompt], Clock()
        self.model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=tokens, do_sample=False, use_cache=True, pad_token_id=0, streamer=clock)
        assert len(clock.times) == 1 + tokens
        return clock.times

    def step(self):
        """Returns the seconds of a prompt, up to the first token after it, and of a token from the first one on."""
        begin = time.perf_counter()
        self.generate(self.o.prompt, 1)
        prefill = time.perf_counter() - begin
        times = self.generate(self.o.after, self.o.tokens + 1)
        return prefill, (times[-1] - times[1]) / self.o.tokens


class Product:
    """C [m, n] = op(A) [m, k] op(B) [k, n]; ta and tb: A and B are stored transposed."""

    def __init__(self, m, k, n, ta, tb, dtype):
        self.a = (torch.randn(k, m).t() if ta else torch.randn(m, k)).to(dtype)
        self.b = (torch.randn(n, k).t() if tb else torch.randn(k, n)).to(dtype)
        self.c = torch.empty(m, n, dtype=dtype)
        self.run()

    def run(self):
        torch.mm(self.a, self.b, out=self.c)

    def seconds(self, at_least):
        """Times at least two calls, for about that many seconds."""
        each, start = [], time.perf_counter()
        while len(each) < 2 or time.perf_counter() - start < at_least:
            begin = time.perf_counter()
            self.run()
            each.append(time.perf_counter() - begin)
        return each


def serve_products(dtype):
    peer.say(facts={"parameters": 0, "version": VERSION})
    shape, product = None, None
    for line in sys.stdin:
        *wanted, at_least = line.split()
        if wanted != shape:
            m, k, n, ta, tb = wanted
            shape, product = wanted, Product(int(m), int(k), int(n), ta == "true", tb == "true", dtype)
        peer.say(seconds=product.seconds(float(at_least)))


def options():
    p = peer.parser(__doc__, "a model's config as JSON, or gemm", batch=8, seed=0, prompt=0, tokens=128, after=16, pad_vocab=1)
    p.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    p.add_argument("--precision", choices=["fp32", "tf32", "bf16"], default="fp32")
    p.add_argument("--compile", action="store_true")
    o = p.parse_args()
    if o.model != "gemm":
        vars(o).update(peer.sizes(o.model))
        o.padded = -(-o.vocab // o.pad_vocab) * o.pad_vocab
    return o


def main():
    o = options()
    torch.set_num_threads(o.threads)
    if o.model == "gemm":
        serve_products(torch.bfloat16 if o.precision == "bf16" else torch.float32)
    elif o.prompt:
        generation = Generation(o)
        peer.generate(generation, o, parameters=generation.model.num_parameters(), version=generation.version, threads=torch.get_num_threads())
    else:
        peer.train(Training(o), o)


if __name__ == "__main__":
    main()
