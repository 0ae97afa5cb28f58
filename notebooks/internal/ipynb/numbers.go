package ipynb

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

var (
	numberPattern  = regexp.MustCompile(`[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?`)
	integerPattern = regexp.MustCompile(`^[-+]?\d+$`)
	spacePattern   = regexp.MustCompile(`[ \t]+`)
	rulePattern    = regexp.MustCompile(`[-─]{3,}`) // a table's rule, as wide as its column
	drawingPattern = regexp.MustCompile(`(?s)<svg\b.*?</svg>|\bsrc="data:[^"]*"`)
)

// volatileMark replaces text that may be anything.
const volatileMark = "…"

// compareText describes the difference between two texts, "" if there is none: words must be equal
// and numbers within the tolerance; the number of spaces or dashes between them does not matter. If
// both texts write a number as an integer, it must be equal.
func compareText(committed, fresh string, s Settings) string {
	committed, fresh = s.settle(committed), s.settle(fresh)
	want, got := numberPattern.FindAllStringIndex(committed, -1), numberPattern.FindAllStringIndex(fresh, -1)
	w, g := 0, 0 // positions up to which the texts have been compared
	for i := range min(len(want), len(got)) {
		if a, b := committed[w:want[i][0]], fresh[g:got[i][0]]; a != b {
			return fmt.Sprintf("want the text %q, got %q", near(committed, w), near(fresh, g))
		}
		w, g = want[i][1], got[i][1]
		a, b := committed[want[i][0]:w], fresh[got[i][0]:g]
		if problem := compareNumber(a, b, s); problem != "" {
			return fmt.Sprintf("%s in %q", problem, near(fresh, got[i][0]))
		}
	}
	if a, b := committed[w:], fresh[g:]; a != b {
		return fmt.Sprintf("want the text %q, got %q", near(committed, w), near(fresh, g))
	}
	return ""
}

// settle replaces the parts of a text that do not matter, so that the rest can be compared.
func (s Settings) settle(text string) string {
	for _, pattern := range s.Volatile.Patterns {
		text = pattern.ReplaceAllString(text, volatileMark)
	}
	text = drawingPattern.ReplaceAllString(text, "picture")
	text = rulePattern.ReplaceAllString(text, "―")
	return strings.TrimSpace(spacePattern.ReplaceAllString(text, " "))
}

// compareNumber describes the difference between two numbers if it is too large.
func compareNumber(committed, fresh string, s Settings) string {
	if integerPattern.MatchString(committed) && integerPattern.MatchString(fresh) {
		if strings.TrimPrefix(committed, "+") == strings.TrimPrefix(fresh, "+") {
			return ""
		}
		return fmt.Sprintf("want the integer %s, got %s", committed, fresh)
	}
	a, errA := strconv.ParseFloat(committed, 64)
	b, errB := strconv.ParseFloat(fresh, 64)
	difference := math.Abs(a - b)
	if errA == nil && errB == nil && (difference <= s.Absolute || difference <= s.Tolerance*max(math.Abs(a), math.Abs(b))) {
		return ""
	}
	return fmt.Sprintf("want %s (tolerance %g, absolute %g), got %s", committed, s.Tolerance, s.Absolute, fresh)
}

// near returns the line around a position in a text.
func near(text string, at int) string {
	start := strings.LastIndexByte(text[:at], '\n') + 1
	line, _, _ := strings.Cut(text[start:], "\n")
	if line == "" && at < len(text) {
		line, _, _ = strings.Cut(text[at+1:], "\n")
	}
	const longest = 80
	if r := []rune(line); len(r) > longest {
		line = string(r[:longest]) + "…"
	}
	return line
}
