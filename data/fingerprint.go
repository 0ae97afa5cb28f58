package data

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
)

// fingerprint is the sha256, in hex, of the tokenizer's name, a zero byte, and
// each stream: its length as a little-endian uint64, then its tokens as
// little-endian uint16, or uint32 where the vocabulary is beyond 65,536.
func fingerprint(t Tokenizer, streams ...Tokens) string {
	h := sha256.New()
	h.Write(append([]byte(t.Name()), 0))
	for _, tokens := range streams {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(tokens.Len())))
		writeTokens(h, tokens)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// writeTokens hashes tokens; a hash never fails.
func writeTokens(h hash.Hash, tokens Tokens) {
	const block = 1 << 14
	bytes := make([]byte, 0, 4*block)
	for tokens.Len() > 0 {
		n := min(block, tokens.Len())
		bytes = tokens.Slice(0, n).appendTo(bytes[:0])
		h.Write(bytes)
		tokens = tokens.From(n)
	}
}
