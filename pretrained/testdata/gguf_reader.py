"""Opens GGUF files by llama.cpp's reader and compares their tensors with those of Hugging Face folders: FILE FOLDER ...

Rows of queries and keys are ordered as llama.cpp's converter orders them, and what is not F32 has the bytes that its quantize makes.
"""

import json
import sys

import numpy as np
from gguf import MODEL_ARCH, MODEL_ARCH_NAMES, MODEL_TENSORS, GGUFReader, TensorNameMap, quantize
from safetensors.numpy import load_file


def permute(w, heads):  # convert_hf_to_gguf.py, LlamaModel.permute
    return w.reshape(heads, 2, w.shape[0] // heads // 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


for path, folder in zip(sys.argv[1::2], sys.argv[2::2]):
    reader = GGUFReader(path)
    field = lambda key: reader.get_field(key).contents()
    with open(folder + "/config.json") as f:
        config = json.load(f)
    name = field("general.architecture")
    assert name == config["model_type"], name
    arch = next(a for a, n in MODEL_ARCH_NAMES.items() if n == name)
    names = TensorNameMap(arch, field(name + ".block_count"))
    theirs = load_file(folder + "/model.safetensors")
    ours = {t.name: t for t in reader.tensors}
    file_type = field("general.file_type")
    for key, w in theirs.items():
        mapped = names.get_name(key, try_suffixes=(".weight", ".bias"))
        t = ours.pop(mapped)
        if name == "gpt2" and key.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight")):
            w = w.T
        if name == "llama" and "q_proj" in key:
            w = permute(w, config["num_attention_heads"])
        if name == "llama" and "k_proj" in key:
            w = permute(w, config["num_key_value_heads"])
        assert list(t.shape) == list(w.shape)[::-1], (mapped, t.shape, w.shape)
        w = quantize(w, t.tensor_type)
        assert t.data.dtype == w.dtype and np.array_equal(t.data.reshape(w.shape), w), mapped
    assert not ours, list(ours)
    assert field(name + ".embedding_length") == config.get("n_embd", config.get("hidden_size"))
    assert field(name + ".attention.head_count") == config.get("n_head", config.get("num_attention_heads"))
    tokens = field("tokenizer.ggml.tokens") if reader.get_field("tokenizer.ggml.tokens") else []
    print(json.dumps({"name": name, "file_type": file_type, "tensors": len(theirs), "tokens": len(tokens), "model": field("tokenizer.ggml.model")}))
