// Package spelling finds the name that a misspelt word probably means, for "did you mean".
package spelling

import (
	"slices"
	"strings"
)

// maxNearest is the length, in characters, of the longest word that Nearest considers.
const maxNearest = 64

// Nearest returns the known name that want probably means, or "" if none is near. A name is near if
// its edit distance from want (insertions, deletions, substitutions and swaps of neighbours,
// ignoring case) is at most a third of want's length, and in any case if it is 1. Otherwise a name
// is near if it begins with want, of at least two characters; or else if all words of one occur in
// the other, as batch does in batch_size. Nearest returns the nearest of several names, and the
// first of those equally near.
func Nearest(want string, known []string) string {
	from := []rune(strings.ToLower(want))
	if len(from) > maxNearest {
		return ""
	}
	limit := max(1, len(from)/3)
	if len(from) < 2 {
		limit = 0 // every short name is one edit from a single letter
	}
	best, least := "", limit+1
	for _, name := range known {
		to := []rune(strings.ToLower(name))
		if len(to) > maxNearest {
			continue
		}
		if distance := editDistance(from, to); distance < least {
			best, least = name, distance
		}
	}
	if best != "" {
		return best
	}
	if i := slices.IndexFunc(known, func(name string) bool { return begins(from, name) }); i >= 0 {
		return known[i]
	}
	return sharingWords(want, known)
}

// Hint returns "; did you mean steps?" for the nearest known name, or "" if none is near.
func Hint(name string, known []string) string {
	if near := Nearest(name, known); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// begins tells whether a name begins with a word of at least two characters, and is longer.
func begins(word []rune, name string) bool {
	return len(word) >= 2 && strings.HasPrefix(strings.ToLower(name), string(word))
}

// editDistance counts the edits between two words (optimal string alignment: no part is edited
// twice).
func editDistance(a, b []rune) int {
	var before []int // the row of a[:i-2]
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			substitution := last[j-1]
			if a[i-1] != b[j-1] {
				substitution++
			}
			row[j] = min(last[j]+1, row[j-1]+1, substitution)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// sharingWords returns the longest known name whose words all occur in want, or that contains all
// words of want.
func sharingWords(want string, known []string) string {
	words := wordsOf(want)
	best := ""
	for _, name := range known {
		other := wordsOf(name)
		if len(name) > len(best) && (holds(words, other) || holds(other, words)) {
			best = name
		}
	}
	return best
}

func wordsOf(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return strings.ContainsRune("_-. ", r) })
}

// holds tells whether others contain all of words, which must not be empty.
func holds(others, words []string) bool {
	for _, word := range words {
		if !slices.Contains(others, word) {
			return false
		}
	}
	return len(words) > 0
}
