package chat

import (
	"fmt"
	"strings"
	"time"
)

// strftime formats a time by the directives of Python's strftime that have a form in the C locale;
// others stay as they are.
func strftime(t time.Time, format string) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(format, "%")
		out.WriteString(before)
		if !found || after == "" {
			return out.String() + strings.Repeat("%", btoi(found))
		}
		directive := after[:1]
		if directive == "-" && len(after) > 1 { // without leading zeros
			directive = after[:2]
		}
		out.WriteString(formatted(t, directive))
		format = after[len(directive):]
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func formatted(t time.Time, directive string) string {
	layouts := map[string]string{
		"d": "02", "-d": "2", "m": "01", "-m": "1", "b": "Jan", "B": "January", "y": "06", "Y": "2006", "H": "15", "I": "03", "-I": "3",
		"M": "04", "S": "05", "p": "PM", "a": "Mon", "A": "Monday", "Z": "MST", "z": "-0700", "F": "2006-01-02", "T": "15:04:05", "D": "01/02/06",
		"c": "Mon Jan _2 15:04:05 2006", "x": "01/02/06", "X": "15:04:05", "e": "_2",
	}
	switch layout, ok := layouts[directive]; {
	case ok:
		return t.Format(layout)
	case directive == "j":
		return fmt.Sprintf("%03d", t.YearDay())
	case directive == "%":
		return "%"
	}
	return "%" + directive
}
