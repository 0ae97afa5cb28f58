// Command gpucheck is what run.sh, beside it, calls on a GPU machine without Go: it unpacks
// the programs that `make gpu-check` has packed, compares runs, and writes the report.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/pkg/errors"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "error: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
		os.Exit(1)
	}
}

// task is one of the things that it does.
type task struct {
	name, arguments string
	least, most     int // arguments after the flags
	run             func(c *call, out io.Writer) error
}

// call is what a call asks for.
type call struct {
	arguments []string
	name      string  // of a comparison
	tolerance float64 // relative, of losses
}

// many is more arguments than a call has.
const many = 1 << 20

func tasks() []task {
	return []task{
		{"pack", "ARCHIVE FILE...", 2, many, func(c *call, _ io.Writer) error { return pack(c.arguments[0], c.arguments[1:]) }},
		{"unpack", "ARCHIVE DIR", 2, 2, func(c *call, _ io.Writer) error { return unpack(c.arguments[0], c.arguments[1]) }},
		{"compare", "[-name NAME] [-tolerance T] RUN RUN", 2, 2, (*call).compare},
		{"report", "DIR", 1, 1, func(c *call, out io.Writer) error { return writeReport(c.arguments[0], out) }},
		{"emulate", "", 0, 0, func(_ *call, out io.Writer) error { return emulate(out) }},
	}
}

func run(args []string, out io.Writer) error {
	var names []string
	for _, t := range tasks() {
		if len(args) > 0 && args[0] == t.name {
			return t.call(args[1:], out)
		}
		names = append(names, strings.TrimSpace(t.name+" "+t.arguments))
	}
	return errors.Errorf("want one of: %s", strings.Join(names, " | "))
}

func (t task) call(args []string, out io.Writer) error {
	c := &call{}
	flags := flag.NewFlagSet(t.name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&c.name, "name", "", "")
	flags.Float64Var(&c.tolerance, "tolerance", 0, "")
	err := flags.Parse(args)
	c.arguments = flags.Args()
	if n := len(c.arguments); err != nil || n < t.least || n > t.most {
		return errors.Errorf("want gpucheck %s %s, got %q", t.name, t.arguments, args)
	}
	return errors.Wrap(t.run(c, out), t.name)
}
