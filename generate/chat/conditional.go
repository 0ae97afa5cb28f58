package chat

import (
	"regexp"
	"strings"

	"github.com/nikolalohinski/gonja/v2/exec"
)

// chooseName is the function by which conditionals replaces conditional expressions.
const chooseName = "_choose"

// conditionals rewrites conditional expressions within parentheses and brackets, which gonja does
// not parse: (a if b else c) becomes (_choose(b, a, c)). All three parts are evaluated, so that an
// error in the part that is not chosen is an error where Jinja has none.
func conditionals(template string) string {
	return regexp.MustCompile(`(?s)\{[{%].*?[%}]\}`).ReplaceAllStringFunc(template, func(tag string) string {
		return tag[:2] + inner(tag[2:len(tag)-2]) + tag[len(tag)-2:]
	})
}

// besideTag matches a tag's end and the space up to another tag, with the character after its {%
// or {#; a - at either side strips the space.
var besideTag = regexp.MustCompile(`([^-](?:\}\}|%\}|#\})[ \t]+\{[%#])([^-+])`)

// spaced marks the tags before which there is space and another tag. gonja strips such space as if
// the line began there.
func spaced(template string) string { return besideTag.ReplaceAllString(template, "$1+$2") }

// inner rewrites the conditionals in the groups of an expression, not in the expression itself.
func inner(expression string) string {
	var out strings.Builder
	for i := 0; i < len(expression); {
		n := groupLength(expression[i:])
		group := expression[i : i+n]
		if c := group[0]; n > 1 && (c == '(' || c == '[') {
			group = group[:1] + arguments(group[1:n-1]) + group[n-1:]
		} else if n > 1 && c == '{' {
			group = group[:1] + inner(group[1:n-1]) + group[n-1:]
		}
		out.WriteString(group)
		i += n
	}
	return out.String()
}

// arguments rewrites the expressions of a group, separated by commas.
func arguments(group string) string {
	parts := split(group, ",")
	for i, part := range parts {
		parts[i] = choice(part)
	}
	return strings.Join(parts, ",")
}

// choice rewrites an expression that may be a conditional.
func choice(expression string) string {
	yes, rest := cutWord(expression, "if")
	if rest == "" {
		return inner(expression)
	}
	condition, no := cutWord(rest, "else")
	if no == "" {
		return chooseName + "(" + inner(condition) + ", " + inner(yes) + ")"
	}
	return chooseName + "(" + inner(condition) + ", " + inner(yes) + ", " + choice(no) + ")"
}

// groupLength returns the length of the string literal or bracketed group that a text begins with,
// 1 if it begins with neither or the group does not end.
func groupLength(text string) int {
	switch text[0] {
	case '\'', '"':
		for i := 1; i < len(text); i++ {
			if text[i] == '\\' {
				i++
			} else if text[i] == text[0] {
				return i + 1
			}
		}
	case '(', '[', '{':
		for i := 1; i < len(text); {
			if strings.IndexByte(")]}", text[i]) >= 0 {
				return i + 1
			}
			i += groupLength(text[i:])
		}
	}
	return 1
}

// split splits a text at a separator outside literals and groups.
func split(text, separator string) (parts []string) {
	from := 0
	for i := 0; i < len(text); i += groupLength(text[i:]) {
		if text[i:i+1] == separator {
			parts, from = append(parts, text[from:i]), i+1
		}
	}
	return append(parts, text[from:])
}

// cutWord cuts a text at a word that stands alone, outside literals and groups.
func cutWord(text, word string) (before, after string) {
	isSpace := func(i int) bool { return i >= 0 && i < len(text) && strings.IndexByte(" \t\n\r", text[i]) >= 0 }
	for i := 0; i < len(text); i += groupLength(text[i:]) {
		if strings.HasPrefix(text[i:], word) && isSpace(i-1) && isSpace(i+len(word)) {
			return text[:i], text[i+len(word):]
		}
	}
	return text, ""
}

// choose is the function that chooseName names.
func choose(_ *exec.Evaluator, args *exec.VarArgs) *exec.Value {
	switch {
	case args.First().IsTrue():
		return args.Args[1]
	case len(args.Args) > 2:
		return args.Args[2]
	}
	return exec.AsValue("")
}
