// Command gpucheck runs tests, compares runs and writes the report. run.sh of package
// experiment/gpucheck calls it on a GPU machine without Go.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/experiment/gpucheck"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "error: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
		os.Exit(1)
	}
}

const usage = "compare [-name NAME] [-tolerance T] [-gradients T] RUN RUN | savestep RUN DIR | report DIR | results [-most N] DIR [PART] | isolate [-limit D] [-skip PATTERN] TESTS PROGRAM [ARG...] | ceilings [-batch N] [-precision P] PRESET | emulate"

func run(args []string, out io.Writer) error {
	task, operands := "", []string(nil)
	var c gpucheck.Comparison
	var i gpucheck.Isolation
	batch, most, precision := 1, 9000, "bf16"
	if len(args) > 0 {
		flags := flag.NewFlagSet("gpucheck", flag.ContinueOnError)
		flags.SetOutput(io.Discard)
		flags.StringVar(&c.Name, "name", "", "")
		flags.Float64Var(&c.Tolerance, "tolerance", 0, "")
		flags.Float64Var(&c.Gradients, "gradients", 0, "")
		flags.DurationVar(&i.Limit, "limit", 0, "")
		flags.StringVar(&i.Skip, "skip", "", "")
		flags.IntVar(&batch, "batch", batch, "")
		flags.IntVar(&most, "most", most, "")
		flags.StringVar(&precision, "precision", precision, "")
		if flags.Parse(args[1:]) == nil {
			task, operands = args[0], flags.Args()
		}
	}
	switch n := len(operands); {
	case task == "compare" && n == 2:
		c.Want, c.Got = operands[0], operands[1]
		return c.Write(out)
	case task == "savestep" && n == 2:
		return gpucheck.SaveStep(operands[0], operands[1])
	case task == "report" && n == 1:
		return gpucheck.WriteReport(operands[0], out)
	case task == "results" && (n == 1 || n == 2):
		return gpucheck.WriteResults(operands[0], strings.Join(operands[1:], ""), most, out)
	case task == "isolate" && n >= 2:
		i.Tests, i.Program = operands[0], operands[1:]
		return i.Run(context.Background(), out)
	case task == "ceilings" && n == 1:
		return gpucheck.Ceilings(operands[0], batch, precision, out)
	case task == "emulate" && n == 0:
		return gpucheck.Emulate(out)
	}
	return errors.Errorf("want one of gpucheck %s, got %q", usage, args)
}
