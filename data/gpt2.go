package data

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/pkg/errors"
	"github.com/tiktoken-go/tokenizer/codec"
)

const (
	gpt2BOS        = 50256   // <|endoftext|>
	pieceSlots     = 1 << 17 // slots of the piece cache, a power of two
	maxCachedPiece = 48      // bytes; longer pieces are encoded anew each time
)

// gpt2Tokenizer is GPT-2's byte-level BPE (Radford et al. 2019, section 2.2).
// A text is cut into pieces (pieceEnd) and each piece is merged on its own
// (mergePairs). Ids of short pieces are kept in a direct-mapped cache; a slot
// is replaced whole, so goroutines share the cache without locks, and what it
// holds never changes the result.
type gpt2Tokenizer struct {
	words []string         // [id] -> bytes of the token, BOS left out
	ids   map[string]int32 // the inverse; an id is also its merge rank
	seed  maphash.Seed
	cache []atomic.Pointer[cachedPiece] // [pieceSlots]
}

type cachedPiece struct {
	piece string
	ids   []int32
}

// newGPT2Tokenizer takes the vocabulary from the library that embeds it.
func newGPT2Tokenizer() (*gpt2Tokenizer, error) {
	library := codec.NewR50kBase()
	t := &gpt2Tokenizer{
		words: make([]string, gpt2BOS),
		ids:   make(map[string]int32, gpt2BOS),
		seed:  maphash.MakeSeed(),
		cache: make([]atomic.Pointer[cachedPiece], pieceSlots),
	}
	id := make([]uint, 1)
	for i := range t.words {
		id[0] = uint(i)
		word, err := library.Decode(id)
		if err != nil {
			return nil, errors.Wrapf(err, "data.tokenizer gpt2: embedded vocabulary: want %d tokens, token %d", gpt2BOS, i)
		}
		t.words[i] = word
		t.ids[word] = int32(i)
	}
	return t, nil
}

func (t *gpt2Tokenizer) Name() string { return tokenizerGPT2 }
func (t *gpt2Tokenizer) Vocab() int   { return gpt2BOS + 1 }
func (t *gpt2Tokenizer) BOS() int32   { return gpt2BOS }

func (t *gpt2Tokenizer) Encode(dst []int32, text string) []int32 {
	for start := 0; start < len(text); {
		end := pieceEnd(text, start)
		dst = t.encodePiece(dst, text[start:end])
		start = end
	}
	return dst
}

func (t *gpt2Tokenizer) encodePiece(dst []int32, piece string) []int32 {
	if len(piece) > maxCachedPiece {
		return mergePairs(dst, piece, t.ids)
	}
	slot := &t.cache[maphash.String(t.seed, piece)%pieceSlots]
	if known := slot.Load(); known != nil && known.piece == piece {
		return append(dst, known.ids...)
	}
	start := len(dst)
	dst = mergePairs(dst, piece, t.ids)
	// Clones, so that a slot holds neither the whole text nor the caller's ids.
	slot.Store(&cachedPiece{strings.Clone(piece), slices.Clone(dst[start:])})
	return dst
}

func (t *gpt2Tokenizer) Decode(ids []int32) string {
	var text strings.Builder
	for _, id := range ids {
		switch {
		case id >= 0 && id < gpt2BOS:
			text.WriteString(t.words[id])
		case id != gpt2BOS:
			text.WriteRune(utf8.RuneError)
		}
	}
	return text.String()
}
