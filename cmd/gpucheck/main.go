// Command gpucheck compares runs and writes the report. run.sh of package
// experiment/gpucheck calls it on a GPU machine without Go.
package main

import (
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

const usage = "compare [-name NAME] [-tolerance T] [-gradients T] RUN RUN | savestep RUN DIR | report DIR | results DIR [PART] | emulate"

func run(args []string, out io.Writer) error {
	task, operands := "", []string(nil)
	var c gpucheck.Comparison
	if len(args) > 0 {
		flags := flag.NewFlagSet("gpucheck", flag.ContinueOnError)
		flags.SetOutput(io.Discard)
		flags.StringVar(&c.Name, "name", "", "")
		flags.Float64Var(&c.Tolerance, "tolerance", 0, "")
		flags.Float64Var(&c.Gradients, "gradients", 0, "")
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
		return gpucheck.WriteResults(operands[0], strings.Join(operands[1:], ""), out)
	case task == "emulate" && n == 0:
		return gpucheck.Emulate(out)
	}
	return errors.Errorf("want one of gpucheck %s, got %q", usage, args)
}
