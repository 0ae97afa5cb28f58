package data

import (
	"sync"

	"github.com/pkg/errors"
	"github.com/tiktoken-go/tokenizer/codec"
)

const gpt2BOS = 50256 // <|endoftext|>

// gpt2Tokenizer is newGPT2Tokenizer's result, made once.
var gpt2Tokenizer = sync.OnceValues(newGPT2Tokenizer)

// newGPT2Tokenizer takes the vocabulary from the library that embeds it. An id
// is also its merge rank.
func newGPT2Tokenizer() (*bpeTokenizer, error) {
	library := codec.NewR50kBase()
	words, ids := make([]string, gpt2BOS+1), make(map[string]int32, gpt2BOS)
	for i := range words[:gpt2BOS] {
		word, err := library.Decode([]uint{uint(i)})
		if err != nil {
			return nil, errors.Wrapf(err, "data.tokenizer gpt2: embedded vocabulary: want %d tokens, token %d", gpt2BOS, i)
		}
		words[i] = word
		ids[word] = int32(i)
	}
	return newBPE(bpeTokenizer{
		name: tokenizerGPT2, words: words, bos: gpt2BOS, eos: []int32{gpt2BOS}, addBOS: true, names: map[int32]string{gpt2BOS: endOfText},
		added:  [2]*addedTokens{newAddedTokens([]addedToken{{ID: gpt2BOS, Content: endOfText, Special: true}})},
		merges: merges{ids: ids, whole: true}, cutters: []cutter{pieceEnd},
	}), nil
}
