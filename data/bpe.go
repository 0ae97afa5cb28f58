package data

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

const (
	pieceSlots     = 1 << 17 // slots of the piece cache, a power of two
	maxCachedPiece = 48      // bytes; longer pieces are encoded every time
)

// bpeTokenizer is a byte-level BPE (Radford et al. 2019, section 2.2). It splits a text into pieces
// and merges each piece independently (merges.append). It keeps the ids of short pieces in a
// direct-mapped cache. A slot is replaced as a whole, so goroutines share the cache without locks,
// and its content never changes the result.
type bpeTokenizer struct {
	name      string
	file      []byte   // sha256 of the tokenizer.json that it was read from, nil: none
	words     []string // [id] -> bytes of the token; none for a special one
	bos       int32
	eos       []int32
	addBOS    bool
	names     map[int32]string // of the added tokens, special or not
	merges    merges
	added     [2]*addedTokens          // those found in the text, and in the normalized text; nil: none
	normalize func(text string) string // nil: no normalization
	cutters   []cutter                 // each splits what the one before it has split
	seed      maphash.Seed
	cache     []atomic.Pointer[cachedPiece] // [pieceSlots]
}

type cachedPiece struct {
	piece string
	ids   []int32
}

// cutter returns where the piece that starts at start ends; start is less than len(text).
type cutter func(text string, start int) int

// newBPE completes a tokenizer.
func newBPE(t bpeTokenizer) *bpeTokenizer {
	t.seed, t.cache = maphash.MakeSeed(), make([]atomic.Pointer[cachedPiece], pieceSlots)
	return &t
}

func (t *bpeTokenizer) Name() string { return t.name }
func (t *bpeTokenizer) Vocab() int   { return len(t.words) }
func (t *bpeTokenizer) BOS() int32   { return t.bos }

func (t *bpeTokenizer) EOS() []int32                { return t.eos }
func (t *bpeTokenizer) AddsBOS() bool               { return t.addBOS }
func (t *bpeTokenizer) SpecialName(id int32) string { return t.names[id] }

func (t *bpeTokenizer) Encode(dst []int32, text string) []int32 {
	return t.encodeParts(dst, text, t.added[0], func(dst []int32, part string) []int32 {
		if t.normalize != nil {
			part = t.normalize(part)
		}
		return t.encodeParts(dst, part, t.added[1], func(dst []int32, part string) []int32 { return t.encode(dst, part, t.cutters) })
	})
}

// encodeParts appends the added tokens in a text and, by encode, the parts between them.
func (t *bpeTokenizer) encodeParts(dst []int32, text string, added *addedTokens, encode func(dst []int32, part string) []int32) []int32 {
	if added == nil {
		return encode(dst, text)
	}
	for at := 0; at < len(text); {
		token, begin, end := added.next(text, at)
		if begin > at {
			dst = encode(dst, text[at:begin])
		}
		if token != nil {
			dst = append(dst, token.ID)
		}
		at = end
	}
	return dst
}

// encode appends the ids of a text that the given cutters still have to split.
func (t *bpeTokenizer) encode(dst []int32, text string, cutters []cutter) []int32 {
	if len(cutters) == 0 {
		return t.encodePiece(dst, text)
	}
	for start := 0; start < len(text); {
		end := cutters[0](text, start)
		dst = t.encode(dst, text[start:end], cutters[1:])
		start = end
	}
	return dst
}

func (t *bpeTokenizer) encodePiece(dst []int32, piece string) []int32 {
	if len(piece) > maxCachedPiece {
		return t.merges.append(dst, piece)
	}
	slot := &t.cache[maphash.String(t.seed, piece)%pieceSlots]
	if known := slot.Load(); known != nil && known.piece == piece {
		return append(dst, known.ids...)
	}
	start := len(dst)
	dst = t.merges.append(dst, piece)
	// Clones, so that a slot holds neither the whole text nor the caller's ids.
	slot.Store(&cachedPiece{strings.Clone(piece), slices.Clone(dst[start:])})
	return dst
}

func (t *bpeTokenizer) Decode(ids []int32) string {
	var text strings.Builder
	for _, id := range ids {
		switch {
		case id >= 0 && int(id) < len(t.words):
			text.WriteString(t.words[id])
		default:
			text.WriteRune(utf8.RuneError)
		}
	}
	return text.String()
}
