package data

import (
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/longtest"
)

// TestNFC compares normal forms with Python's unicodedata (testdata/nfc.py): of all characters,
// alone and next to others, and of random strings.
func TestNFC(t *testing.T) {
	digest := func(texts iter.Seq[string]) string {
		sum := sha256.New()
		for text := range texts {
			normal, changes := nfcTables().normalize(text)
			sum.Write([]byte(normal + "\n"))
			length := len(text)
			for _, c := range changes {
				require.LessOrEqual(t, c.end, len(normal))
				length += c.is - c.was
			}
			require.Equal(t, len(normal), length, "%+q", text)
		}
		return hex.EncodeToString(sum.Sum(nil))
	}
	characters := func(yield func(string) bool) {
		for r := rune(0); r <= utf8.MaxRune; r++ {
			c := string(r)
			if utf8.ValidRune(r) && !(yield(c) && yield("e"+c) && yield(c+"\u0301") && yield("\u1100"+c+"\u1161")) {
				return
			}
		}
	}
	require.Equal(t, "636eb34f51aeca7470ecf5b10d0efac44340ca37b0a9f12776383ba31fb6acee", digest(characters))
	require.Equal(t, "ff319295259194eb36b9e0923d9e67a7d34fe7d5439eb0b3983a35c4eb0b19bb", digest(nfcStrings(100_000)))
	if longtest.Exhaustive() {
		require.Equal(t, "df69e88b4d864f2807eb68205ceaffb60204ab80bf6c9c2f9e8894a7bd10eed0", digest(nfcStrings(1_000_000)))
	}
}

// nfcStrings makes the random strings of testdata/nfc.py.
func nfcStrings(count int) iter.Seq[string] {
	ranges := [][2]rune{{0x41, 0x7A}, {0xC0, 0x24F}, {0x300, 0x36F}, {0x300, 0x36F}, {0x300, 0x36F}, {0x370, 0x3FF}, {0x591, 0x5EA}, {0x610, 0x6ED},
		{0x900, 0xDFF}, {0xF40, 0xFBC}, {0x1000, 0x1040}, {0x1100, 0x11FF}, {0x1B00, 0x1B44}, {0x1DC0, 0x1DFF}, {0x1E00, 0x1FFF},
		{0x20D0, 0x20F0}, {0x2200, 0x22FF}, {0x3040, 0x30FF}, {0xAC00, 0xD7A3}, {0xF900, 0xFAFF}, {0xFB1D, 0xFB4E}, {0x10041, 0x10043},
		{0x11080, 0x110BA}, {0x11100, 0x11134}, {0x11340, 0x1134D}, {0x114B0, 0x114C3}, {0x115AF, 0x115C0}, {0x11930, 0x11943},
		{0x1D157, 0x1D172}, {0x1D1BB, 0x1D1C0}, {0x1E000, 0x1E02A}, {0x2F800, 0x2FA1D}}
	state := uint64(1)
	draw := func(n int) int {
		state = state*6364136223846793005 + 1442695040888963407
		return int(state >> 33 % uint64(n))
	}
	return func(yield func(string) bool) {
		for i := range count {
			length := draw(8) + 1
			if i%64 == 0 {
				length += 40
			}
			var text strings.Builder
			for range length {
				low := ranges[draw(len(ranges))]
				text.WriteRune(low[0] + rune(draw(int(low[1]-low[0]+1))))
			}
			if !yield(text.String()) {
				return
			}
		}
	}
}

// TestNFCOfBytes: bytes that are not UTF-8 stay, and what is around them is normalized.
func TestNFCOfBytes(t *testing.T) {
	normal, changes := nfcTables().normalize("e\u0301\xff\u0301e\xcc\xe2\x82e\u0301")
	require.Equal(t, "é\xff\u0301e\xcc\xe2\x82é", normal)
	require.Equal(t, []change{{2, 3, 2}, {len(normal), 3, 2}}, changes)
}

// TestNFCTokenizer: marks beyond 30 and letters beyond U+FFFF are encoded as Hugging Face's
// tokenizers encode them.
func TestNFCTokenizer(t *testing.T) {
	tokenizer := newTokenizer(t, filepath.Join(tokenizerFolder("qwen"), "tokenizer.json"))
	for text, want := range map[string]string{
		"\U00010041\u0301":                 "\U00010041\u0301",
		"e" + strings.Repeat("\u0336", 31): "e" + strings.Repeat("\u0336", 31),
		"e\u0301":                          "é",
	} {
		require.Equal(t, want, tokenizer.Decode(tokenizer.Encode(nil, text)), "%+q", text)
	}
}
