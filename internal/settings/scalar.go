package settings

import (
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// form is the form in which a scalar is written.
type form int

const (
	formText    form = iota // a string: bare, quoted or a block
	formNothing             // nothing
	formNull                // null, ~
	formBool                // true, false
	formInt                 // 12, -3, 1_000, 0x1f, 0o17, 0b11
	formOctal               // 010: octal or decimal, depending on the YAML version
	formFloat               // 1.5, 1e-8, .1
	formSpecial             // .nan, .inf
)

var (
	nullPattern    = regexp.MustCompile(`^(~|null|Null|NULL)$`)
	boolPattern    = regexp.MustCompile(`^(true|True|TRUE|false|False|FALSE)$`)
	octalPattern   = regexp.MustCompile(`^[-+]?0[0-9_]+$`)
	intPattern     = regexp.MustCompile(`^[-+]?([0-9]+(_[0-9]+)*|0x[0-9a-fA-F]+(_[0-9a-fA-F]+)*|0o[0-7]+(_[0-7]+)*|0b[01]+(_[01]+)*)$`)
	floatPattern   = regexp.MustCompile(`^[-+]?([0-9]+(_[0-9]+)*(\.([0-9]+(_[0-9]+)*)?)?|\.[0-9]+(_[0-9]+)*)([eE][-+]?[0-9]+)?$`)
	specialPattern = regexp.MustCompile(`^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
)

// scalar is a value that is neither a list nor a map.
type scalar struct {
	text  string
	plain bool // without quotes: its text decides its type
}

// scalarOf reads a node as a scalar, from its text; it does not use the numbers of the parser.
func scalarOf(n ast.Node) (scalar, bool) {
	switch n := n.(type) {
	case nil:
		return scalar{plain: true}, true
	case *ast.StringNode:
		quoted := n.Token.Type == token.SingleQuoteType || n.Token.Type == token.DoubleQuoteType
		return scalar{text: n.Value, plain: !quoted}, true
	case *ast.LiteralNode:
		return scalar{text: n.Value.Value}, true
	case *ast.NullNode:
		if n.Token.Type == token.ImplicitNullType {
			return scalar{plain: true}, true
		}
		return scalar{text: n.Token.Value, plain: true}, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return scalar{text: n.GetToken().Value, plain: true}, true
	}
	return scalar{}, false
}

// form returns the scalar's form.
func (s scalar) form() form {
	switch {
	case !s.plain:
		return formText
	case s.text == "":
		return formNothing
	case nullPattern.MatchString(s.text):
		return formNull
	case boolPattern.MatchString(s.text):
		return formBool
	case octalPattern.MatchString(s.text):
		return formOctal
	case intPattern.MatchString(s.text):
		return formInt
	case floatPattern.MatchString(s.text):
		return formFloat
	case specialPattern.MatchString(s.text):
		return formSpecial
	}
	return formText
}

// String returns the scalar as messages show it: strings in quotes, all else bare.
func (s scalar) String() string {
	switch s.form() {
	case formNothing:
		return "nothing"
	case formText:
		return quoted(s.text)
	}
	return shortened(s.text, 60)
}

// into stores the scalar in v and returns "", or returns the problem: what was found and the likely
// fix, as the continuation of "want …, ".
func (s scalar) into(v reflect.Value) string {
	k := v.Kind()
	switch {
	case k == reflect.String:
		return s.intoString(v)
	case k == reflect.Bool:
		return s.intoBool(v)
	case isFloat(k):
		return s.intoFloat(v)
	}
	return s.intoInteger(v)
}

// not returns the problem "want X, got" the scalar, followed by a hint.
func (s scalar) not(want, hint string) string { return "want " + want + ", got " + s.String() + hint }

func (s scalar) intoString(v reflect.Value) string {
	switch s.form() {
	case formText:
		v.SetString(s.text)
		return ""
	case formNothing, formNull:
		return s.not("a string", `; write "" for an empty one`)
	}
	return s.not("a string", "; write "+quoted(s.text)+" with the quotes")
}

func (s scalar) intoBool(v reflect.Value) string {
	if s.plain && (s.text == "true" || s.text == "false") {
		v.SetBool(s.text == "true")
		return ""
	}
	hint := ""
	switch strings.ToLower(s.text) {
	case "true", "yes", "on":
		hint = "; write true"
	case "false", "no", "off":
		hint = "; write false"
	}
	return s.not("true or false", hint)
}

// intoInteger stores an integer that is written as one and fits the type.
func (s scalar) intoInteger(v reflect.Value) string {
	unsigned, bits := isUint(v.Kind()), v.Type().Bits()
	if s.form() != formInt || unsigned && strings.HasPrefix(s.text, "-") {
		return s.not(wantKind(v.Type()), s.integerHint())
	}
	if unsigned {
		if n, err := strconv.ParseUint(strings.TrimPrefix(s.text, "+"), 0, bits); err == nil {
			v.SetUint(n)
			return ""
		}
	} else if n, err := strconv.ParseInt(s.text, 0, bits); err == nil {
		v.SetInt(n)
		return ""
	}
	return s.not(integerRange(v.Type()), "")
}

// integerHint says how to write the integer that was probably meant.
func (s scalar) integerHint() string {
	inner := scalar{text: s.text, plain: true}
	switch {
	case inner.form() == formOctal:
		digits := strings.TrimLeft(s.text, "+-0_")
		if digits == "" {
			return "; write 0"
		}
		return "; write it without the leading 0, or with 0o for an octal number"
	case !s.plain && inner.form() == formInt:
		return "; remove the quotes"
	case s.form() == formFloat:
		f, err := parseFloat(s.text, 64)
		if err == nil && f == math.Trunc(f) && math.Abs(f) <= 1<<53 {
			return "; write " + strconv.FormatInt(int64(f), 10)
		}
	}
	return ""
}

// intoFloat stores a finite number that fits v's type.
func (s scalar) intoFloat(v reflect.Value) string {
	isNumber := floatPattern.MatchString(s.text)
	switch form := s.form(); {
	case form == formSpecial:
		return s.not("a finite number", "")
	case form == formOctal:
		return s.not("a number", "; write it without the leading 0")
	case !s.plain && isNumber:
		return s.not("a number", "; remove the quotes")
	case !isNumber:
		return s.not("a number", "")
	}
	f, err := parseFloat(s.text, v.Type().Bits())
	mantissa, _, _ := strings.Cut(strings.ToLower(s.text), "e")
	if err != nil || f == 0 && strings.ContainsAny(mantissa, "123456789") {
		return s.not("a number that "+v.Kind().String()+" can hold", "")
	}
	v.SetFloat(f)
	return ""
}

// parseFloat parses a number that matches floatPattern.
func parseFloat(text string, bits int) (float64, error) {
	return strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), bits)
}

// integerRange describes the integers that a type can hold.
func integerRange(t reflect.Type) string {
	bits := t.Bits()
	if isUint(t.Kind()) {
		return "an integer from 0 to " + strconv.FormatUint(math.MaxUint64>>(64-bits), 10)
	}
	return "an integer from " + strconv.FormatInt(math.MinInt64>>(64-bits), 10) +
		" to " + strconv.FormatInt(math.MaxInt64>>(64-bits), 10)
}

// quoted returns a text as a quoted string on one short line.
func quoted(text string) string {
	return strconv.Quote(shortened(text, 60))
}

// shortened cuts a text to n characters if it is longer.
func shortened(text string, n int) string {
	count := 0
	for i := range text {
		if count == n {
			return text[:i] + "…"
		}
		count++
	}
	return text
}
