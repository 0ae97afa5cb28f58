"""Writes the folders beside it: tokenizers with the settings of classes of transformers, and ids that they give.

    python make.py        (tokenizers 0.23.3, transformers 5.24.0)

Each has 1,000 ids, trained on files of this repository, and expected.json: 300 strings, their ids by Tokenizer.from_file, where special
tokens that a text spells are text (encode_special_tokens), and what the ids decode to. Where no special token is spelt, AutoTokenizer
gives the same ids, which this program checks; where one is, AutoTokenizer's ids follow.
"""

import glob
import json
import os
import random
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoTokenizer

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.join(here, "..", "..")
corpus = [open(f, encoding="utf-8").read() for name in ("docs/generate.md", "docs/train.md", "docs/student.md", "data/bpe.go") for f in [os.path.join(root, name)]]
MARK = "▁"
O200K = "|".join([
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])


def strings():
    """300 strings: written by hand, and drawn from an alphabet of what is difficult."""
    own = ["", " ", "  ", "a", " a", "a ", "  a  b ", "\n", "\n\n a", "\t\tx", "a\r\nb", "it's IT'S we'LL they'd", "don't", "naïve café", "日本語 テキスト",
           "🙂🙃", "👩‍👩‍👧", "é e\u0301", "ﬁ ½ ²", "0123456789", "3.14e-10", "x=1;y=2//z", "https://a.b/c?d=e&f#g", "<s>", "</s> a", "a<unk>b", "<|endoftext|>",
           "<0x0A>", "▁", "▁a", "a▁b ▁", "\u00a0a\u2003b\u3000c", "a\u200bb", "\ufeffa", "Ǆ ǅ ǆ", "HTTPServer camelCase SCREAMING_CASE", "ÄÖÜäöüß", "Привет, мир!",
           "مرحبا", "हिन्दी", "ไทย", "ʼn ʰ ª º", "aʰB Aʰb", "中aB Ab中", "a/b\n//c\n", "!!!\r\n\r\n/", "(a)[b]{c}", "a\x00b\x7fc", "tab\there", "<tool>x</tool>", " <tool> ",
           "word" * 30, " " * 20 + "x", "\n" * 7, "a b  c   d    e", "ⅷ Ⅷ ٣ ３", "𝐀𝐛 𝟘", "\U0001F1E9\U0001F1EA", "Ω≈ç√", "fi\u0308n", "İi̇ ß SS"]
    own += [line for line in corpus[0].split("\n") if line][:30]
    draw = random.Random(7)
    alphabet = list(" \n\t'.,/!-_aAbBzZ0189éÉß中日्हिʰǅ🙂▁") + ["\r\n", "'s", "'LL", "the ", " of", "ing", "\u0301", "\u00a0", "\u200d", "<s>", "<tool>", "  "]
    while len(own) < 300:
        own.append("".join(draw.choice(alphabet) for _ in range(draw.randint(1, 24))))
    return own


def characters(prepends, metaspace, split):
    """A BPE of characters with tokens for bytes, as SentencePiece's are converted."""
    t = Tokenizer(models.BPE())
    t.normalizer = normalizers.Sequence([normalizers.Prepend(MARK), normalizers.Replace(" ", MARK)])
    t.pre_tokenizer = pre_tokenizers.Split(Regex("(?<!▁)(?=▁)"), "isolated")
    t.train_from_iterator([line for text in corpus for line in text.split("\n")], trainers.BpeTrainer(vocab_size=1000 - 260, show_progress=False, min_frequency=2))
    trained = json.loads(t.to_str())["model"]
    vocab = {"<unk>": 0, "<s>": 1, "</s>": 2}
    vocab |= {f"<0x{b:02X}>": 3 + b for b in range(256)}
    for token in sorted(trained["vocab"], key=trained["vocab"].get):
        vocab[token] = len(vocab)
    merges = [tuple(m) for m in trained["merges"]]
    t = Tokenizer(models.BPE(vocab=vocab, merges=merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    if metaspace:
        t.pre_tokenizer = pre_tokenizers.Metaspace(replacement=MARK, prepend_scheme=metaspace, split=False)
        t.decoder = decoders.Sequence([decoders.Replace(MARK, " "), decoders.ByteFallback(), decoders.Fuse()] + ([decoders.Strip(" ", 1, 0)] if metaspace != "never" else []))
    else:
        steps = [normalizers.Prepend(MARK)] if prepends else []
        steps.append(normalizers.Replace(" ", MARK))
        t.normalizer = normalizers.Sequence(steps) if prepends else steps[0]
        if split:
            t.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
        t.decoder = decoders.Sequence([decoders.Replace(MARK, " "), decoders.ByteFallback(), decoders.Fuse()] + ([decoders.Strip(" ", 1, 0)] if prepends else []))
    t.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in ("<unk>", "<s>", "</s>")])
    t.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)])
    return t, {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}


def bytes_of(pattern):
    t = Tokenizer(models.BPE())
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pattern is None)
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), level]) if pattern else level
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=999, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=["<|endoftext|>"]))
    return t, {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"}


def write(name, made, files=False):
    t, config = made
    t.add_tokens([AddedToken("<tool>", normalized=name != "gemma", special=False)])
    folder = os.path.join(here, name)
    os.makedirs(folder, exist_ok=True)
    config = dict(config, tokenizer_class="PreTrainedTokenizerFast", clean_up_tokenization_spaces=False)
    t.save(os.path.join(folder, "tokenizer.json"), pretty=False)
    with open(os.path.join(folder, "tokenizer_config.json"), "w") as f:
        json.dump(config, f)
    file = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    auto, cases, compared = AutoTokenizer.from_pretrained(folder), [], 0
    file.encode_special_tokens = True
    for text in strings():
        ids = file.encode(text, add_special_tokens=False).ids
        cases.append([text, ids, file.decode(ids)])
        if not any(s in text for s in ("<s>", "</s>", "<unk>", "<|endoftext|>")):
            assert auto(text, add_special_tokens=False)["input_ids"] == ids, (name, text)
            compared += 1
        else:
            cases[-1].append(auto(text, add_special_tokens=False)["input_ids"])
    with open(os.path.join(folder, "expected.json"), "w", encoding="utf-8") as f:
        json.dump(cases, f, ensure_ascii=False, separators=(",", ":"))
    print(name, t.get_vocab_size(), "ids,", compared, "of", len(cases), "texts compared with AutoTokenizer,", len({i for c in cases for i in c[1]}), "ids used")


write("llama", characters(True, None, False))
write("mistral", characters(False, "first", False))
write("metaspace", characters(False, "always", False))
write("gemma", characters(False, None, True))
write("o200k", bytes_of(O200K))
write("neox", bytes_of(None))
