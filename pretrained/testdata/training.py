"""Trains each folder of the arguments by transformers' Trainer for a step, and resizes its vocabulary.

Prints a line a folder: the loss and the gradient's norm for 1, 2, 4 and 8 steps of accumulation, and how far the gradients
are apart; the loss divided by num_items_in_batch over the sum of the tokens'; how far the resized model's logits of the
old ids are from the model's. Saves the resized model in FOLDER/resized.
"""

import json
import os
import sys
import tempfile
import warnings

warnings.simplefilter("ignore")
import torch
from torch.nn import functional as F
from transformers import AutoModelForCausalLM, Trainer, TrainerCallback, TrainingArguments, logging

logging.set_verbosity_error()
rows = torch.arange(8 * 24).reshape(8, 24).square() % 251
labels = rows.clone()
for i in range(8):  # rows of different numbers of labels
    labels[i, : 2 * i] = -100


class Gradient(TrainerCallback):
    def on_pre_optimizer_step(self, args, state, control, model=None, **kwargs):
        self.gradient = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])


def train(folder, steps):
    model = AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True)
    data = [{"input_ids": r, "labels": l} for r, l in zip(rows, labels)]
    seen = Gradient()
    with tempfile.TemporaryDirectory() as out:
        args = TrainingArguments(out, max_steps=1, per_device_train_batch_size=8 // steps, gradient_accumulation_steps=steps, learning_rate=0.0,
                                 optim="sgd", max_grad_norm=0, logging_steps=1, save_strategy="no", report_to=[], use_cpu=True, disable_tqdm=True)
        sys.stdout, stdout = sys.stderr, sys.stdout
        trainer = Trainer(model, args, train_dataset=data, callbacks=[seen])
        trainer.train()
        sys.stdout = stdout
    return trainer.state.log_history[0]["loss"], seen.gradient


def resize(folder):
    model = AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True)
    words = model.get_input_embeddings()
    assert isinstance(words, torch.nn.Embedding) and words.weight.shape == (words.num_embeddings, words.embedding_dim), words
    assert words(rows).shape == (8, 24, words.embedding_dim) and f"{words.num_embeddings}, {words.embedding_dim}" in repr(model), model
    calls = []
    words.register_forward_hook(lambda *_: calls.append(1))
    with torch.no_grad():
        before = model(rows).logits
    assert calls, "the model reads its input embeddings"
    vocab = before.shape[-1]
    assert model.resize_token_embeddings(vocab + 3, pad_to_multiple_of=8) is model.get_input_embeddings()
    with torch.no_grad():
        wider = model(torch.cat([rows, torch.full((8, 1), vocab)], 1)).logits
    assert wider.shape[-1] % 8 == 0 and wider.shape[-1] >= vocab + 3 and torch.isfinite(wider).all(), wider.shape
    assert model.config.vocab_size == wider.shape[-1] == model.get_input_embeddings().weight.shape[0]
    loss = model(rows, labels=rows).loss
    loss.backward()
    assert all(p.grad is not None for p in model.parameters() if p.requires_grad), "all parameters have gradients"
    model.save_pretrained(os.path.join(folder, "resized"))
    again = AutoModelForCausalLM.from_pretrained(os.path.join(folder, "resized"), trust_remote_code=True)
    with torch.no_grad():
        assert torch.equal(again(rows).logits, model(rows).logits)
        model.resize_token_embeddings(vocab)
        model.set_input_embeddings(model.get_input_embeddings())
        narrow = model(rows).logits
    assert torch.equal(narrow, before), "narrowed again"
    return (wider[:, :-1, :vocab] - before).abs().max().item(), wider.shape[-1]


for folder in sys.argv[1:]:
    runs = [train(folder, steps) for steps in (1, 2, 4, 8)]
    model = AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True)
    with torch.no_grad():
        total = F.cross_entropy(model(rows).logits[:, :-1].flatten(0, 1), rows[:, 1:].flatten(), reduction="sum")
        share = model(rows, labels=rows, num_items_in_batch=100).loss * 100 / total
    difference, vocab = resize(folder)
    print(json.dumps({
        "folder": os.path.basename(folder), "losses": [loss for loss, _ in runs], "norm": runs[0][1].norm().item(),
        "gradients": max((g - runs[0][1]).norm().item() / runs[0][1].norm().item() for _, g in runs),
        "share": share.item(), "resized": difference, "vocab": vocab,
    }))
