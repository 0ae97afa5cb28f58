package data

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
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

// String writes the rule as parseSplit reads it.
func (r splitRule) String() string {
	if r.kind == splitNone {
		return r.kind
	}
	return fmt.Sprintf("%s/%d", r.kind, r.parts)
}

// side is the stream to which a document belongs.
type side uint32

// Sides, as token shards write them.
const (
	sideOpen side = iota // not decided
	sideTrain
	sideValidation
	sides // the number of sides
)

// String returns the word with which the names of a side's shards begin.
func (s side) String() string { return [...]string{"all", "train", "val"}[s] }

// holdsOut reports whether a document is validation: by its side, if that is decided, otherwise by
// its name.
func (r splitRule) holdsOut(d Document) bool {
	switch {
	case r.kind != splitHash:
		return false
	case d.side != sideOpen:
		return d.side == sideValidation
	}
	return r.validation(sha256.Sum256([]byte(d.Name)))
}

// validation reports whether a document belongs to validation, given the SHA-256 of its name
// or of its content.
func (r splitRule) validation(sum [sha256.Size]byte) bool {
	return binary.BigEndian.Uint64(sum[:8])%r.parts == 0
}

// sideOf returns the side of a document by the sha256 of its content.
func (r splitRule) sideOf(sum [sha256.Size]byte) side {
	switch {
	case r.kind != splitHash:
		return sideOpen
	case r.validation(sum):
		return sideValidation
	}
	return sideTrain
}

// cut returns the index at which validation begins in a stream of n tokens: the tokens of all
// documents that holdsOut has not already assigned to validation.
func (r splitRule) cut(n int) int {
	if r.kind != splitTail {
		return n
	}
	return n - n/int(r.parts)
}
