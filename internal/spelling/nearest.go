// Package spelling finds the name that was probably meant, for "did you mean".
package spelling

import (
	"slices"
	"strings"
)

// maxNearest is the longest word, in characters, that Nearest looks at.
const maxNearest = 64

// Nearest returns the known name that want was probably meant to be, or "" when
// none is near. Names are near when an edit distance (insertions, deletions,
// substitutions and swaps of neighbours, upper and lower case being the same) of
// a third of want's length, but at least one, lies between them; or else when
// want, of at least two characters, is how the name begins; or else when all
// words of one occur in the other, as batch does in batch_size. Of several names
// the nearest is returned, the earliest of those that are equally near.
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

// Hint asks whether the nearest known name was meant: "; did you mean steps?", or "" if none is near.
func Hint(name string, known []string) string {
	if near := Nearest(name, known); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// begins tells whether a name goes on after a word of at least two characters.
func begins(word []rune, name string) bool {
	return len(word) >= 2 && strings.HasPrefix(strings.ToLower(name), string(word))
}

// editDistance counts the edits between two words (optimal string alignment: no
// part is edited twice).
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

// sharingWords returns the longest known name whose words all occur in want, or
// that holds all of want's words.
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

// holds tells whether all of some words, at least one, are among others.
func holds(others, words []string) bool {
	for _, word := range words {
		if !slices.Contains(others, word) {
			return false
		}
	}
	return len(words) > 0
}
