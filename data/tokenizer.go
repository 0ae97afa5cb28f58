package data

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/pkg/errors"
)

// Names for NewTokenizer.
const (
	tokenizerBytes = "bytes"
	tokenizerGPT2  = "gpt2"
)

// Tokenizer turns text into token ids in [0, Vocab) and back. Implementations
// are safe for concurrent use and give the same ids in every run.
type Tokenizer interface {
	// Name returns the name under which NewTokenizer knows the tokenizer.
	Name() string
	// Vocab returns the number of token ids, including BOS.
	Vocab() int
	// BOS returns the id that begins every document. Text never encodes to it.
	BOS() int32
	// Encode appends the ids of text to dst and returns the extended slice. It adds no BOS. It
	// accepts any string, even invalid UTF-8, because it encodes the bytes of the text.
	Encode(dst []int32, text string) []int32
	// Decode is the inverse of Encode, byte for byte: Decode(Encode(s)) == s, unless the
	// tokenizer.json of a Hugging Face folder normalizes text first. If that puts a space before a
	// text, Decode returns the space, too, so that the tokens of a text may be decoded one by one;
	// DecodeText removes it. BOS and other special tokens give no text; an id outside the
	// vocabulary gives U+FFFD. The result may end inside a UTF-8 sequence: use a StreamDecoder to
	// print ids one by one.
	Decode(ids []int32) string
}

// TokenizerNames lists the names that NewTokenizer knows, other than files.
func TokenizerNames() []string { return []string{tokenizerBytes, tokenizerGPT2} }

// NewTokenizer returns the tokenizer of that name:
//
//	bytes  256 byte values and BOS = 256: vocabulary 257
//	gpt2   the byte-level BPE of GPT-2 (Radford et al. 2019, section 2.2),
//	       50257 ids, BOS = 50256 (<|endoftext|>). "<|endoftext|>" written in
//	       a text is plain text.
//
// A name that ends in .json is the path of the tokenizer.json in a Hugging Face folder. It must be
// a byte-level BPE without normalization or with NFC, which splits text as GPT-2 (possibly with
// single digits), Llama 3, Qwen or o200k do, or a BPE of characters that reads spaces as Llama 2,
// Mistral and Gemma do, and writes characters that are no tokens as tokens for their bytes. Its BOS
// comes from the files next to it: the token that begins documents, or else the one that ends them.
// Without such files it is the only special token of the tokenizer.json. The files also say which
// tokens end a text (EOS) and whether a prompt is read after BOS. Special tokens written in a text
// are plain text. The path of a vocab.json, with a merges.txt next to it, names a tokenizer in
// GPT-2's two files. A name that ends in .gguf is the path of a GGUF file, whose keys say all of
// this.
//
// Any other name is an error that lists the known ones.
func NewTokenizer(name string) (Tokenizer, error) {
	switch name {
	case tokenizerBytes:
		return byteTokenizer{}, nil
	case tokenizerGPT2:
		return gpt2Tokenizer()
	}
	if IsTokenizerFile(name) {
		t, _, err := readTokenizer(name)
		return t, errors.Wrap(err, "data.tokenizer")
	}
	return nil, errors.Errorf("data.tokenizer: want one of %s or the path of a tokenizer.json, got %q",
		strings.Join(TokenizerNames(), ", "), name)
}

// digestOf identifies a tokenizer: two tokenizers with the same digest turn text into the same ids.
// For a tokenizer.json it is the sha256 of the file's content and of BOS. For any other tokenizer
// it is the sha256 of its name, of BOS and of the text of each id.
func digestOf(t Tokenizer) [sha256.Size]byte {
	if bpe, ok := t.(*bpeTokenizer); ok && bpe.file != nil {
		return sha256.Sum256(fmt.Appendf(nil, "tokenizer.json\n%d\n%x", bpe.bos, bpe.file))
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%d\n", t.Name(), t.BOS())
	for id := range int32(t.Vocab()) {
		fmt.Fprintf(h, "%q\n", t.Decode([]int32{id}))
	}
	return [sha256.Size]byte(h.Sum(nil))
}
