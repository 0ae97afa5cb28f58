package data

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/pkg/errors"
)

const (
	splitHash = "hash"
	splitTail = "tail"
	splitNone = "none"

	defaultSplitParts = 20
)

// splitRule says which part of a corpus is validation: see Options.Split.
type splitRule struct {
	kind  string
	parts uint64 // 1/parts of the corpus is validation
}

func parseSplit(text string) (splitRule, error) {
	kind, count, counted := strings.Cut(cmp.Or(text, splitHash), "/")
	rule := splitRule{kind: kind, parts: defaultSplitParts}
	bad := errors.Errorf("data.split: want hash, hash/N, tail, tail/N with N >= 2, or none, got %q", text)
	if kind != splitHash && kind != splitTail && (kind != splitNone || counted) {
		return splitRule{}, bad
	}
	if counted {
		n, err := strconv.ParseUint(count, 10, 32)
		if err != nil || n < 2 {
			return splitRule{}, bad
		}
		rule.parts = n
	}
	return rule, nil
}

// validation reports whether a document with that name is validation.
func (r splitRule) validation(name string) bool {
	if r.kind != splitHash {
		return false
	}
	sum := sha256.Sum256([]byte(name))
	return binary.BigEndian.Uint64(sum[:8])%r.parts == 0
}

// cut returns where validation begins in a stream of the n tokens of all documents that are not
// validation by name.
func (r splitRule) cut(n int) int {
	if r.kind != splitTail {
		return n
	}
	return n - n/int(r.parts)
}
