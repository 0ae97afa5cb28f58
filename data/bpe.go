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
	name    string
	file    []byte   // sha256 of the tokenizer.json that it was read from, nil: none
	words   []string // [id] -> bytes of the token; none for a special one
	bos     int32
	eos     []int32
	addBOS  bool
	special bool             // the names of special tokens in a text are these tokens
	names   map[int32]string // of the added tokens, special or not
	merges  merges
	added   [2]*addedTokens // those found in the text, and in the normalized text; nil: none
	nfc     *nfc            // normalizes text first; nil: nothing does
	space   *metaspace      // how a BPE of characters reads spaces; nil: it is one of bytes
	cutters []cutter        // each splits what the one before it has split
	seed    maphash.Seed
	cache   []atomic.Pointer[cachedPiece] // [pieceSlots]
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
	ids, _ := t.encodeText(dst, text)
	return ids
}

// encodeText appends the ids of a text. bytes lists the tokens that stand for other bytes of the
// text than their own.
func (t *bpeTokenizer) encodeText(dst []int32, text string) (ids []int32, bytes textBytes) {
	begun := false
	for part, token := range t.added[0].parts(text, t.special) {
		begins := !begun
		begun = true
		if token != nil {
			dst = append(dst, token.ID)
			bytes.add(len(dst)-1, len(part)-len(t.words[token.ID]))
			continue
		}
		if t.space != nil {
			dst = t.encodeSpaced(dst, part, begins, &bytes)
			continue
		}
		if t.nfc == nil {
			dst = t.encodeNormal(dst, part, &bytes)
			continue
		}
		normal, changes := t.nfc.normalize(part)
		first, known := len(dst), len(bytes.all)
		if dst = t.encodeNormal(dst, normal, &bytes); len(changes) > 0 {
			t.count(dst, first, known, changes, &bytes)
		}
	}
	return dst, bytes
}

// encodeSpaced appends the ids of a part of a text for a BPE of characters. The part may have more
// or fewer bytes than its tokens, because of a space put before it, or of space marks in the text
// itself; the difference counts for the last id.
func (t *bpeTokenizer) encodeSpaced(dst []int32, part string, first bool, bytes *textBytes) []int32 {
	begin, left := len(dst), len(part)
	normal := part
	if t.space.early {
		normal = t.space.read(part, first)
	}
	for piece, token := range t.added[1].parts(normal, t.special) {
		begins := first
		first = false
		if token != nil {
			dst = append(dst, token.ID)
			continue
		}
		if !t.space.early {
			piece = t.space.read(piece, begins)
		}
		dst = t.encode(dst, piece, t.cutters)
	}
	for _, id := range dst[begin:] {
		left -= len(t.words[id])
	}
	bytes.add(len(dst)-1, left)
	return dst
}

// encodeNormal appends the ids of normalized text.
func (t *bpeTokenizer) encodeNormal(dst []int32, text string, bytes *textBytes) []int32 {
	for part, token := range t.added[1].parts(text, t.special) {
		if token != nil {
			dst = append(dst, token.ID)
			bytes.add(len(dst)-1, len(part)-len(t.words[token.ID]))
		} else {
			dst = t.encode(dst, part, t.cutters)
		}
	}
	return dst
}

// count corrects the byte differences of the tokens from first on for normalization, which has
// changed their text; it replaces the differences from number known on. A change that has made the
// text shorter counts for the token in which it ends. One that has made the text longer counts for
// the tokens from its beginning on, each of which loses at most all of its bytes.
func (t *bpeTokenizer) count(ids []int32, first, known int, changes []change, bytes *textBytes) {
	old := slices.Clone(bytes.all[known:])
	bytes.all = bytes.all[:known]
	end, owed := 0, 0
	for i := first; i < len(ids); i++ {
		length := len(t.words[ids[i]])
		if len(old) > 0 && old[0].token == i {
			length += old[0].bytes
			old = old[1:]
		}
		end += length
		for len(changes) > 0 && changes[0].counts() <= end {
			owed += changes[0].was - changes[0].is
			changes = changes[1:]
		}
		now := max(0, length+owed)
		owed -= now - length
		bytes.add(i, now-len(t.words[ids[i]]))
	}
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
