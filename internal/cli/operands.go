package cli

import "strings"

// Operands are the arguments of a command that are not flags, as in compare runs/a runs/b.
type Operands struct {
	Name   string // for -h, as in RUN...
	Usage  string // for -h: what is done with them
	Values *[]string
}

// take keeps an argument that is no flag, unless there are no operands or it is empty or "-".
func (o *Operands) take(arg string) bool {
	if o == nil || arg == "" || strings.HasPrefix(arg, "-") {
		return false
	}
	*o.Values = append(*o.Values, arg)
	return true
}

// wanted says what arguments a command takes.
func (o *Operands) wanted() string {
	if o == nil {
		return "flags alone"
	}
	return "flags and " + o.Name
}
