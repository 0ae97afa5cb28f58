package data

import (
	"fmt"
	"slices"
	"strings"
)

// pieceRule is a rule by which text is cut into pieces, as llama.cpp and Hugging Face's tokenizers
// call it.
type pieceRule struct {
	names      string // tokenizer.ggml.pre of GGUF files, separated by spaces; the first is written
	pattern    string // "": GPT-2's
	digits     bool   // numbers are cut into digits first
	nfc        bool   // text is normalized; llama.cpp leaves it as it is
	whole      bool   // a piece that is a token becomes that token, whatever the merges
	characters bool   // a BPE of characters, as SentencePiece's, which does not cut
	prepends   bool   // with a space put before a text
	begins     bool   // BOS is put before a text, unless a file says otherwise
}

// pieceRules lists the rules of BPEs of bytes.
func pieceRules() []pieceRule {
	return []pieceRule{
		{names: "gpt-2 phi-2 mpt jais"}, {names: "olmo", nfc: true}, {names: "smollm starcoder refact command-r", digits: true},
		{names: "llama-bpe llama3 llama-v3", pattern: llama3Pattern, whole: true, begins: true}, {names: "dbrx smaug-bpe", pattern: llama3Pattern},
		{names: "qwen2", pattern: qwenPattern, nfc: true}, {names: "stablelm2 deepseek-r1-qwen", pattern: qwenPattern}, {names: "gpt-4o", pattern: o200kPattern},
	}
}

// ruleNamed returns llama.cpp's rule of that name.
func ruleNamed(name string) (rule pieceRule, known bool) {
	for _, r := range pieceRules() {
		if name != "" && slices.Contains(strings.Fields(r.names), name) {
			return r, true
		}
	}
	return rule, false
}

// pieces returns llama.cpp's name for the file's rule, "" if it has none. If no rule of llama.cpp
// has all of the file's options, pieces returns the name of a rule with the same pattern.
func (file tokenizerJSON) pieces() string {
	p := file.PreTokenizer
	if p == nil || p.Type == "Metaspace" || p.Pattern.String != "" {
		return ""
	}
	own := pieceRule{whole: file.Model.IgnoreMerges}
	if n, err := file.Normalizer.nfc(); err == nil {
		own.nfc = n != nil
	}
	for _, s := range append([]preTokenizer{*p}, p.Steps...) {
		if s.Type == "Digits" && !s.Individual {
			return ""
		}
		own.digits = own.digits || s.Type == "Digits"
		own.pattern += s.Pattern.Regex
	}
	name := ""
	for _, r := range pieceRules() {
		first, _, _ := strings.Cut(r.names, " ")
		own.names, own.begins = r.names, r.begins
		if own == r || name == "" && own.pattern == r.pattern && own.digits == r.digits {
			name = first
		}
	}
	return name
}

// The steps of a tokenizer.json with the rule.

func (r pieceRule) normalizer() string {
	const replace = `{"type": "Replace", "pattern": {"String": " "}, "content": "▁"}`
	switch {
	case r.characters && r.prepends:
		return `{"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, ` + replace + `]}`
	case r.characters:
		return replace
	case r.nfc:
		return `{"type": "NFC"}`
	}
	return "null"
}

func (r pieceRule) preTokenizer() string {
	first, last := `{"type": "Digits", "individual_digits": true}`, byteLevel
	switch {
	case r.characters:
		return "null"
	case r.pattern != "":
		first = fmt.Sprintf(`{"type": "Split", "pattern": {"Regex": %s}, "behavior": "Isolated", "invert": false}`, quoted(r.pattern))
		last = strings.Replace(byteLevel, `regex": true`, `regex": false`, 1)
	case !r.digits:
		return byteLevel
	}
	return `{"type": "Sequence", "pretokenizers": [` + first + ", " + last + `]}`
}

func (r pieceRule) decoder() string {
	const steps = `{"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}`
	switch {
	case r.characters && r.prepends:
		return steps + `, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}`
	case r.characters:
		return steps + "]}"
	}
	return byteLevel
}
