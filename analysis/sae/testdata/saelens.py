"""saelens.py FOLDER...: opens each folder with SAELens, encodes and decodes x of x.safetensors, and writes features and y to
expected.safetensors; then saves what it has opened to FOLDER/again, as SAELens does.
"""

import sys
import warnings

import torch
from safetensors.torch import load_file, save_file

warnings.filterwarnings("ignore")
from sae_lens import SAE, SkipTranscoder, Transcoder  # noqa: E402

KINDS = {"transcoder": Transcoder, "skip_transcoder": SkipTranscoder}

for folder in sys.argv[1:]:
    kind = KINDS.get(folder.rsplit("/", 1)[1], SAE)
    model = kind.load_from_disk(folder)
    x = load_file(folder + "/x.safetensors")["x"]
    with torch.no_grad():
        features = model.encode(x)
        y = model(x)
    features = features.to_dense() if features.is_sparse else features
    save_file({"features": features.contiguous(), "y": y.contiguous()}, folder + "/expected.safetensors")
    model.save_model(folder + "/again")
