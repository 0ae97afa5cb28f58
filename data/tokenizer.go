package data

import (
	"strings"

	"github.com/pkg/errors"
)

// Names that NewTokenizer knows.
const (
	tokenizerBytes = "bytes"
	tokenizerGPT2  = "gpt2"
)

// Tokenizer turns text into token ids in [0, Vocab) and back. Implementations
// are safe for concurrent use and give the same ids in every run.
type Tokenizer interface {
	// Name is the name that NewTokenizer knows the tokenizer by.
	Name() string
	// Vocab is the number of token ids, BOS included.
	Vocab() int
	// BOS is the id that begins every document. Text never encodes to it.
	BOS() int32
	// Encode appends the ids of text to dst and returns the extended slice.
	// It adds no BOS. Any string is accepted, invalid UTF-8 too: the bytes of
	// the text are what is encoded.
	Encode(dst []int32, text string) []int32
	// Decode is the inverse of Encode, byte for byte: Decode(Encode(s)) == s,
	// unless the tokenizer.json of a Hugging Face folder normalizes text first.
	// BOS contributes nothing; an id outside the vocabulary contributes
	// U+FFFD. The result is cut where the ids end, which may be inside a
	// UTF-8 sequence: use a StreamDecoder to print ids one by one.
	Decode(ids []int32) string
}

// TokenizerNames lists the names that NewTokenizer knows, other than of files.
func TokenizerNames() []string { return []string{tokenizerBytes, tokenizerGPT2} }

// NewTokenizer returns the tokenizer of that name:
//
//	bytes  256 byte values and BOS = 256: vocabulary 257
//	gpt2   the byte-level BPE of GPT-2 (Radford et al. 2019, section 2.2),
//	       50257 ids, BOS = 50256 (<|endoftext|>). "<|endoftext|>" written in
//	       a text is plain text.
//
// A name that ends in .json is the path of a Hugging Face folder's
// tokenizer.json, if that is a byte-level BPE: without normalization or with
// NFC, its pieces those of GPT-2, of GPT-2 between digits, of Llama 3 or of
// Qwen. Its BOS is the bos_token_id of the folder's config.json or, without,
// its eos_token_id. Special tokens written in a text are plain text.
//
// Any other name is an error that lists the known ones.
func NewTokenizer(name string) (Tokenizer, error) {
	switch name {
	case tokenizerBytes:
		return byteTokenizer{}, nil
	case tokenizerGPT2:
		return newGPT2Tokenizer()
	}
	if IsTokenizerFile(name) {
		t, _, err := readTokenizer(name)
		return t, errors.Wrap(err, "data.tokenizer")
	}
	return nil, errors.Errorf("data.tokenizer: want one of %s or the path of a tokenizer.json, got %q",
		strings.Join(TokenizerNames(), ", "), name)
}

// TextBytes counts the bytes of text that the tokens stand for; BOS and ids
// outside the vocabulary count as none. Bits per byte of a token stream is its
// summed cross-entropy in nats / (ln 2 * TextBytes).
func TextBytes(t Tokenizer, tokens Tokens) int64 {
	lengths := make([]int64, t.Vocab()) // [id] -> bytes
	for i := range lengths {
		lengths[i] = int64(len(t.Decode([]int32{int32(i)})))
	}
	return textBytes(lengths, tokens.narrow) + textBytes(lengths, tokens.wide)
}

func textBytes[T uint16 | uint32](lengths []int64, tokens []T) int64 {
	var total int64
	for _, token := range tokens {
		if int(token) < len(lengths) {
			total += lengths[token]
		}
	}
	return total
}
