"""Residua's language models in PyTorch, for Hugging Face's transformers:

    AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True)

The Residual Matrix Transformer (Mak & Flanigan 2025, arXiv 2506.22696, eq. 18-27), whose residual stream is a matrix
X [Dk, Dv] a token that sublayers read and write with key vectors,

    X_0 = sum_h w_E[h] (x) e_h + w_P[h] (x) p_h
    q, k, v = r_QKV Norm(X);   X <- X + sum_h w_O[h] (x) o_h
    u = r_FF Norm(X);          X <- X + sum_h w_FF[h] (x) y_h
    logits = W_U vec(r_U Norm(X))

and the transformer whose stream is a vector h [D], h <- h + F(Norm(h)). Parameters have Residua's names and shapes.
Without a key-value cache: generation runs the whole text for each token.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F
from transformers import GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutput


class ResiduaConfig(PretrainedConfig):
    """residua is the model as Residua describes it, scales are the constant factors of its maps."""

    model_type = "residua"

    def __init__(self, residua=None, scales=None, **kwargs):
        self.residua = residua or {}
        self.scales = scales or {"embedding": 1.0, "attention": 1.0, "logits": 1.0}
        super().__init__(**kwargs)

    def section(self, name):
        return self.residua.get(name) or {}


class Sizes:
    """The sizes of a model."""

    def __init__(self, config):
        c, stream, attention = config.residua, config.section("stream"), config.section("attention")
        self.matrix = stream["kind"] == "matrix"
        if self.matrix:
            self.heads, self.head_dim = stream["rank"], stream["dv"]
            self.state = (stream["dk"], stream["dv"])  # a token's stream
            self.row = (stream["rank"], stream["dv"])  # of the tables
        elif stream["kind"] == "vector":
            self.heads = attention["heads"]
            self.head_dim = attention.get("head_dim") or stream["d_model"] // self.heads
            self.state = self.row = (stream["d_model"],)
        else:
            raise ValueError(f"model.stream.kind: want matrix or vector, got {stream['kind']}")
        self.kv_heads = attention.get("kv_heads") or self.heads
        self.width = math.prod(self.row)
        self.hidden = config.section("feedforward")["hidden"]
        self.layers, self.vocab, self.positions = c["layers"], c["vocab"], c["seq"]


def weight(*shape):
    return nn.Parameter(torch.zeros(shape))


class Norm:
    """A LayerNorm or RMSNorm over the axes of its gain jointly; the biased variance."""

    def __init__(self, config):
        self.rms, self.eps = config.residua["norm"] == "rmsnorm", config.residua["norm_eps"]

    def __call__(self, x, gain, bias):
        axes = tuple(range(-gain.dim(), 0))
        if not self.rms:
            x = x - x.mean(axes, keepdim=True)
        x = x * torch.rsqrt(x.square().mean(axes, keepdim=True) + self.eps) * gain
        return x if bias is None else x + bias


class Attention(nn.Module):
    """The attention of block l: how it reads the stream, attends and writes."""

    def __init__(self, config, sizes, l):
        super().__init__()
        a, s = config.section("attention"), sizes
        biases = config.residua.get("bias", False)
        self.sizes, self.heads, self.kv, self.dim, self.first = s, s.heads, s.kv_heads, s.head_dim, l == 0
        self.apply_norm = Norm(config)
        self.norm = weight(*s.state)
        self.norm_bias = weight(*s.state) if biases else None
        wide = (s.heads + 2 * s.kv_heads) * s.head_dim
        if s.matrix:
            dk = s.state[0]
            self.read = weight(3, s.heads, dk) if s.kv_heads == s.heads else weight(s.heads + 2 * s.kv_heads, dk)
            self.write = weight(s.heads, dk)
        else:
            self.qkv, self.o = weight(s.width, wide), weight(s.heads * s.head_dim, s.width)
            self.qkv_bias, self.o_bias = (weight(wide), weight(s.width)) if biases else (None, None)
            self.scale = weight(s.width) if config.section("stream").get("layerscale") else None
        self.eps = config.residua["norm_eps"]
        self.q_norm, self.k_norm = (weight(s.head_dim), weight(s.head_dim)) if a.get("qk_norm") else (None, None)
        self.mixes = a.get("value_residual") or ""
        self.value_residual = weight(2) if self.mixes == "learned" and l > 0 else None
        self.rope = a.get("rope_base") if a["positions"] == "rope" else None
        self.alibi = a["positions"] == "alibi"
        self.factor = config.scales["attention"] / (l + 1 if a.get("inverse_layer_scaling") else 1)

    def forward(self, x, first_values, positions, visible):
        u = self.apply_norm(x, self.norm, self.norm_bias)
        if self.sizes.matrix:  # [batch, seq, Dk, Dv] read by keys [heads + 2 kv, Dk]
            qkv = torch.einsum("bskv,hk->bshv", u, self.read.reshape(-1, self.read.shape[-1]))
        else:
            qkv = u @ self.qkv if self.qkv_bias is None else u @ self.qkv + self.qkv_bias
            qkv = qkv.unflatten(-1, (-1, self.dim))
        q, k, v = qkv.transpose(1, 2).split([self.heads, self.kv, self.kv], 1)  # [batch, heads, seq, Dh]
        if self.q_norm is not None:
            q, k = self.unit(q) * self.q_norm, self.unit(k) * self.k_norm
        if self.rope:
            q, k = self.turn(q, positions), self.turn(k, positions)
        if self.first:
            first_values = v
        elif self.mixes:
            own, old = self.value_residual if self.value_residual is not None else (0.5, 0.5)
            v = own * v + old * first_values
        o = self.attend(q, k, v, positions, visible).transpose(1, 2)  # [batch, seq, heads, Dh]
        if self.sizes.matrix:
            return x + torch.einsum("bshv,hk->bskv", o, self.write), first_values
        o = o.flatten(-2) @ self.o
        if self.o_bias is not None:
            o = o + self.o_bias
        return x + (o if self.scale is None else o * self.scale), first_values

    def unit(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps)

    def turn(self, x, positions):
        """Rotary positions (Su et al. 2021): entries i and i + Dh/2 of a head turn by position * base^(-2i/Dh)."""
        half = self.dim // 2
        rates = self.rope ** (-torch.arange(half, dtype=torch.float64, device=x.device) / half)
        angles = positions[:, None, :, None].double() * rates  # [batch, 1, seq, Dh/2]
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    def attend(self, q, k, v, positions, visible):
        group = self.heads // self.kv
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        logits = q @ k.transpose(-1, -2) * self.factor  # [batch, heads, query, key]
        if self.alibi:  # Press et al. 2022: slopes 2^(-8h/H), h = 1..H
            slopes = 2.0 ** (-8.0 * torch.arange(1, self.heads + 1, device=q.device) / self.heads)
            distance = positions[:, None, :, None] - positions[:, None, None, :]
            logits = logits - slopes[:, None, None] * distance
        return logits.masked_fill(~visible, torch.finfo(logits.dtype).min).softmax(-1) @ v


class FeedForward(nn.Module):
    """The feed-forward of a block: how it reads the stream, what it computes, how it writes."""

    def __init__(self, config, sizes):
        super().__init__()
        s, biases = sizes, config.residua.get("bias", False)
        self.sizes, self.kind = s, config.section("feedforward")["kind"]
        if self.kind not in ("gelu", "swiglu", "relu2"):
            raise ValueError(f"model.feedforward.kind: want gelu, swiglu or relu2, got {self.kind}")
        self.gelu = "none" if config.residua.get("gelu") == "exact" else "tanh"
        self.apply_norm = Norm(config)
        self.norm = weight(*s.state)
        self.norm_bias = weight(*s.state) if biases else None
        if s.matrix:
            self.read, self.write = weight(s.heads, s.state[0]), weight(s.heads, s.state[0])
        self.scale = weight(s.width) if config.section("stream").get("layerscale") else None
        self.w1, self.w2 = weight(s.width, s.hidden), weight(s.hidden, s.width)
        self.w3 = weight(s.width, s.hidden) if self.kind == "swiglu" else None
        self.w1_bias, self.w2_bias = (weight(s.hidden), weight(s.width)) if biases else (None, None)
        self.w3_bias = weight(s.hidden) if biases and self.kind == "swiglu" else None

    def forward(self, x):
        u = self.apply_norm(x, self.norm, self.norm_bias)
        if self.sizes.matrix:
            u = torch.einsum("bskv,hk->bshv", u, self.read).flatten(-2)  # [batch, seq, R*Dv]
        y = linear(self.activate(u), self.w2, self.w2_bias)
        if self.sizes.matrix:
            return x + torch.einsum("bshv,hk->bskv", y.unflatten(-1, self.sizes.row), self.write)
        return x + (y if self.scale is None else y * self.scale)

    def activate(self, u):
        a = linear(u, self.w1, self.w1_bias)
        if self.kind == "swiglu":
            return F.silu(a) * linear(u, self.w3, self.w3_bias)
        return F.gelu(a, approximate=self.gelu) if self.kind == "gelu" else F.relu(a).square()


def linear(x, w, bias):
    return x @ w if bias is None else x @ w + bias


class Block(nn.Module):
    def __init__(self, config, sizes, l):
        super().__init__()
        self.attention = Attention(config, sizes, l)
        self.feedforward = FeedForward(config, sizes)
        self.x0 = weight(2) if config.section("stream").get("x0") else None


class ResiduaForCausalLM(PreTrainedModel, GenerationMixin):
    config_class = ResiduaConfig
    _no_split_modules = ["Block"]

    def __init__(self, config):
        super().__init__(config)
        s = self.sizes = Sizes(config)
        c = config.residua
        self.embedding = weight(s.vocab, *s.row)
        learned, biases = config.section("attention")["positions"] == "learned", c.get("bias", False)
        self.positions = weight(s.positions, *s.row) if learned else None
        if s.matrix:
            self.write_embedding = weight(s.heads, s.state[0])
            self.write_positions = weight(s.heads, s.state[0]) if learned else None
            self.read_unembedding = weight(s.heads, s.state[0])
        self.blocks = nn.ModuleList(Block(config, s, l) for l in range(s.layers))
        self.apply_norm = Norm(config)
        self.norm = weight(*s.state)
        self.norm_bias = weight(*s.state) if biases else None
        self.unembedding = None if c.get("tie_embeddings") else weight(s.width, s.vocab)
        self.cap, self.scales = c.get("logit_softcap") or 0, config.scales
        self.bos = c.get("bos", 0) if c.get("mask_documents") else None
        self.post_init()

    def _init_weights(self, module):
        pass  # weights come from a file

    def tie_weights(self, *args, **kwargs):
        pass  # a tied unembedding is no parameter of its own

    def forward(self, input_ids, attention_mask=None, labels=None, return_dict=None, **kwargs):
        batch, seq = input_ids.shape
        if attention_mask is None:
            attention_mask = torch.ones_like(input_ids)
        positions = (attention_mask.cumsum(-1) - 1).clamp(min=0)  # those of a padded row begin after the padding
        visible = self.visible(input_ids, attention_mask)
        x = start = self.embed(input_ids, positions)
        values = None
        for block in self.blocks:
            if block.x0 is not None:
                x = block.x0[0] * x + block.x0[1] * start
            x, values = block.attention(x, values, positions, visible)
            x = block.feedforward(x)
        logits = self.logits(x)
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits[:, :-1].flatten(0, 1).float(), labels[:, 1:].flatten())
        if return_dict is False:
            return (logits,) if loss is None else (loss, logits)
        return CausalLMOutput(loss=loss, logits=logits)

    def visible(self, ids, mask):
        """Which keys a query sees [batch, 1, query, key]: those before it, in its document, that are no padding."""
        seq = ids.shape[1]
        causal = torch.ones(seq, seq, dtype=torch.bool, device=ids.device).tril()
        visible = causal & mask.bool()[:, None, None, :]
        if self.bos is None:
            return visible
        first = ids == self.bos  # a document begins at a BOS that no other stands before
        first = first & ~F.pad(first, (1, 0))[:, :-1]
        document = first.cumsum(-1)
        return visible & (document[:, None, :, None] == document[:, None, None, :])

    def embed(self, ids, positions):
        rows = self.embedding[ids] * self.scales["embedding"]
        if not self.sizes.matrix:
            return rows if self.positions is None else rows + self.positions[positions]
        x = torch.einsum("bshv,hk->bskv", rows, self.write_embedding)  # [batch, seq, Dk, Dv]
        if self.positions is not None:
            x = x + torch.einsum("bshv,hk->bskv", self.positions[positions], self.write_positions)
        return x

    def logits(self, x):
        x = self.apply_norm(x, self.norm, self.norm_bias)
        if self.sizes.matrix:
            x = torch.einsum("bskv,hk->bshv", x, self.read_unembedding).flatten(-2)  # [batch, seq, R*Dv]
        w = self.unembedding if self.unembedding is not None else self.embedding.flatten(1).t()
        logits = x @ w * self.scales["logits"]
        return self.cap * torch.tanh(logits / self.cap) if self.cap else logits

    def prepare_inputs_for_generation(self, input_ids, attention_mask=None, **kwargs):
        return {"input_ids": input_ids, "attention_mask": attention_mask}
