package data

import (
	"math"
	"strconv"
	"strings"

	"github.com/pkg/errors"
)

// IDs are token ids, written as in 1,2,3; spaces and line breaks may stand in the place of commas.
type IDs []int32

// UnmarshalText reads them, at least one.
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

// ParseIDs reads token ids, such as "1,2,3", each below the model's vocabulary.
// Spaces and line breaks may stand in the place of commas, too.
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

// CheckIDs returns an error that names the first id that a vocabulary does not have.
func CheckIDs(ids []int32, vocab int) error {
	for i, id := range ids {
		if id < 0 || int(id) >= vocab {
			return errors.Errorf("token %d: want an id of 0 to %d, got %d", i, vocab-1, id)
		}
	}
	return nil
}

// words are what commas or white space part; nothing between two commas is a word, too.
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

// FormatIDs writes token ids as ParseIDs reads them.
func FormatIDs(ids []int32) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = strconv.Itoa(int(id))
	}
	return strings.Join(words, ",")
}
