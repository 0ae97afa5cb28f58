package data

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
	"sync"

	"github.com/pkg/errors"
)

const gpt2BOS = 50256 // <|endoftext|>

// gpt2Vocabulary has the bytes of GPT-2's tokens in the order of their ids, each after a byte that
// counts them, compressed by gzip. An id is also its merge rank, as in r50k_base.tiktoken, the file
// in which OpenAI's tiktoken keeps the vocabulary.
//
//go:embed gpt2.vocab.gz
var gpt2Vocabulary []byte

// gpt2Tokenizer is newGPT2Tokenizer's result, made once.
var gpt2Tokenizer = sync.OnceValues(newGPT2Tokenizer)

func newGPT2Tokenizer() (*bpeTokenizer, error) {
	words, err := gpt2Words()
	if err != nil {
		return nil, errors.Wrap(err, "data.tokenizer gpt2: embedded vocabulary")
	}
	ids := make(map[string]int32, gpt2BOS)
	for i, word := range words {
		ids[word] = int32(i)
	}
	return newBPE(bpeTokenizer{
		name: tokenizerGPT2, words: append(words, ""), bos: gpt2BOS, eos: []int32{gpt2BOS}, addBOS: true, names: map[int32]string{gpt2BOS: endOfText},
		added:  [2]*addedTokens{newAddedTokens([]addedToken{{ID: gpt2BOS, Content: endOfText, Special: true}})},
		merges: merges{ids: ids, whole: true}, cutters: []cutter{pieceEnd},
	}), nil
}

// gpt2Words returns the tokens' bytes, without those of <|endoftext|>.
func gpt2Words() ([]string, error) {
	packed, err := gzip.NewReader(bytes.NewReader(gpt2Vocabulary))
	if err != nil {
		return nil, errors.WithStack(err)
	}
	rest, err := io.ReadAll(packed)
	if err != nil {
		return nil, errors.WithStack(err)
	}
	words := make([]string, gpt2BOS)
	for i := range words {
		if len(rest) == 0 || len(rest) <= int(rest[0]) {
			return nil, errors.Errorf("want %d tokens, got %d", gpt2BOS, i)
		}
		words[i], rest = string(rest[1:1+rest[0]]), rest[1+rest[0]:]
	}
	return words, nil
}
