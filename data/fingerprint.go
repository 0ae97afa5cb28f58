package data

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// fingerprint returns the sha256, in hex, of the tokenizer's name, a zero byte, and each stream:
// its length as a little-endian uint64, then its tokens as little-endian uint16, or uint32 if the
// vocabulary exceeds 65,536.
func fingerprint(tokenizer string, streams ...Tokens) string {
	h := sha256.New()
	h.Write(append([]byte(tokenizer), 0))
	for _, tokens := range streams {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(tokens.Len())))
		_ = tokens.write(h) // a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil))
}
