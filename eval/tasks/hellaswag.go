package tasks

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// readHellaSwag reads a line of HellaSwag (Zellers et al. 2019): the query is "activity: context",
// without WikiHow's markup.
func readHellaSwag(o *object) Document {
	activity, a, b := o.text("activity_label"), o.text("ctx_a"), o.text("ctx_b")
	endings := o.choices("endings")
	cleaned := make([]string, len(endings))
	for i, ending := range endings {
		if cleaned[i] = cleanHellaSwag(ending); cleaned[i] == "" {
			o.refuse("endings", "entry %d: want text other than [marks], got %q", i, ending)
		}
	}
	return choice(cleanHellaSwag(activity+": "+a+" "+capitalize(b)), cleaned, o.index("label", len(endings)))
}

// bracketed matches markup such as [header].
var bracketed = regexp.MustCompile(`\[.*?\]`)

// cleanHellaSwag does what lm-eval's preprocess does.
func cleanHellaSwag(text string) string {
	text = strings.TrimFunc(text, isSpace)
	text = strings.ReplaceAll(text, " [title]", ". ")
	text = bracketed.ReplaceAllString(text, "")
	return strings.ReplaceAll(text, "  ", " ")
}

// capitalize does what Python's str.capitalize does: the first letter becomes upper case, all
// others lower case.
func capitalize(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return ""
	}
	return string(unicode.ToTitle(first)) + strings.ToLower(text[size:])
}
