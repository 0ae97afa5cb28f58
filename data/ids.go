package data

import (
	"math"
	"strconv"
	"strings"

	"github.com/pkg/errors"
)

// IDs are token ids, written like 1,2,3; spaces and line breaks may replace the commas.
type IDs []int32

// UnmarshalText parses at least one id.
func (ids *IDs) UnmarshalText(text []byte) error {
	read, err := ParseIDs(string(text), math.MaxInt32)
	if err == nil && len(read) == 0 {
		err = errors.New("want whole numbers such as 1,2,3, got none")
	}
	if err == nil {
		*ids = read
	}
	return err
}

// ParseIDs parses token ids such as "1,2,3", each less than vocab. Spaces and line breaks may
// replace the commas.
func ParseIDs(list string, vocab int) ([]int32, error) {
	var ids []int32
	for _, word := range words(list) {
		id, err := strconv.Atoi(word)
		if err != nil {
			return nil, errors.Errorf("want whole numbers such as 1,2,3, got %q", word)
		}
		if id < 0 || id >= vocab {
			return nil, errors.Errorf("token %d: want an id of 0 to %d, got %d", len(ids), vocab-1, id)
		}
		ids = append(ids, int32(id))
	}
	return ids, nil
}

// CheckIDs returns an error that names the first id outside a vocabulary.
func CheckIDs(ids []int32, vocab int) error {
	for i, id := range ids {
		if id < 0 || int(id) >= vocab {
			return errors.Errorf("token %d: want an id of 0 to %d, got %d", i, vocab-1, id)
		}
	}
	return nil
}

// words splits a list at commas and white space; nothing between two commas gives an empty word.
func words(list string) []string {
	if strings.TrimSpace(list) == "" {
		return nil
	}
	var words []string
	for part := range strings.SplitSeq(list, ",") {
		within := strings.Fields(part)
		if len(within) == 0 {
			within = []string{""}
		}
		words = append(words, within...)
	}
	return words
}

// FormatIDs formats token ids so that ParseIDs can read them.
func FormatIDs(ids []int32) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = strconv.Itoa(int(id))
	}
	return strings.Join(words, ",")
}
