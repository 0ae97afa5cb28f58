package data

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
)

// fingerprint is the sha256, in hex, of the tokenizer's name, a zero byte, and
// each stream: its length as a little-endian uint64, then its tokens as
// little-endian uint16.
func fingerprint(t Tokenizer, streams ...[]uint16) string {
	h := sha256.New()
	h.Write(append([]byte(t.Name()), 0))
	for _, tokens := range streams {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(tokens))))
		writeTokens(h, tokens)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// writeTokens hashes tokens as little-endian uint16; a hash never fails.
func writeTokens(h hash.Hash, tokens []uint16) {
	const block = 1 << 14
	bytes := make([]byte, 0, 2*block)
	for len(tokens) > 0 {
		n := min(block, len(tokens))
		bytes = appendTokens(bytes[:0], tokens[:n])
		h.Write(bytes)
		tokens = tokens[n:]
	}
}

// appendTokens appends tokens as little-endian uint16.
func appendTokens(dst []byte, tokens []uint16) []byte {
	for _, token := range tokens {
		dst = binary.LittleEndian.AppendUint16(dst, token)
	}
	return dst
}
