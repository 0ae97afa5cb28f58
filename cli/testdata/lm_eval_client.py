"""Scores three tasks by lm-eval's client for completions: lm_eval_client.py URL MODEL FOLDER CONCURRENT. Prints JSON like FOLDER/expected.json.

max_length is the model's window and 2: the client takes one off for the token that it makes the server generate, and a window of
n tokens predicts one more than it reads."""

import json
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
url, model, folder, concurrent = sys.argv[1:]

import lm_eval  # noqa: E402

metrics = {
    "multiple_choice": ["acc", "acc_norm"],
    "last_word": ["perplexity", "acc"],
    "perplexity": ["word_perplexity", "byte_perplexity", "bits_per_byte"],
}
formats = {
    "multiple_choice": {"output_type": "multiple_choice", "doc_to_text": "{{query}}", "doc_to_choice": "{{choices}}", "doc_to_target": "{{gold}}"},
    "last_word": {"output_type": "loglikelihood", "doc_to_text": "{{text.split(' ')[:-1]|join(' ')}}", "doc_to_target": "{{' '+text.split(' ')[-1]}}"},
    "perplexity": {"output_type": "loglikelihood_rolling", "doc_to_text": "", "doc_to_target": "{{page}}"},
}
tasks = [
    {
        "task": name,
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": f"{folder}/{name}.jsonl"}},
        "test_split": "test",
        "metric_list": [{"metric": m} for m in metrics[name]],
    }
    | formats[name]
    for name in metrics
]
with open(f"{folder}/model/config.json") as f:
    window = json.load(f)["n_positions"]
out = lm_eval.simple_evaluate(
    model="local-completions",
    model_args={
        "model": model, "base_url": url + "/v1/completions", "tokenizer_backend": "remote",
        "max_length": window + 2, "num_concurrent": int(concurrent), "max_retries": 1,
    },
    tasks=tasks, bootstrap_iters=0, cache_requests=False, log_samples=True,
)
json.dump(
    {
        "source": "lm-eval " + lm_eval.__version__,
        "results": {name: {m: out["results"][name][m + ",none"] for m in metrics[name]} for name in metrics},
        "loglikelihoods": {
            name: [s["filtered_resps"] for s in sorted(out["samples"][name], key=lambda s: s["doc_id"])] for name in metrics
        },
    },
    sys.stdout,
)
