// Command combine builds one program from several: commands, and the test programs of packages.
// Called under the name of a command, or as PACKAGE.test (by a link of that name), it acts as that
// program. `make gpu-check` packs it, so that the code the programs share, which is nearly
// everything, is included once.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/pkg/errors"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "error: %s\n", err)
		os.Exit(1)
	}
}

// run builds the program and lists the names under which it can be called.
func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("combine", flag.ContinueOnError)
	tags := flags.String("tags", "", "build tags")
	file := flags.String("o", "", "the program")
	if err := flags.Parse(args); err != nil {
		return errors.WithStack(err)
	}
	if *file == "" || flags.NArg() == 0 {
		return errors.Errorf("want combine [-tags TAGS] -o FILE PACKAGE..., got %q", args)
	}
	packages, err := list(*tags, flags.Args())
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "combine")
	if err != nil {
		return errors.WithStack(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	o := overlay{folder: folder, Replace: map[string]string{}}
	var programs []program
	for _, p := range packages {
		added, err := o.add(p)
		if err != nil {
			return errors.Wrap(err, p.ImportPath)
		}
		programs = append(programs, added)
	}
	if err := o.build(programs, packages[0].Module.Dir, *tags, *file); err != nil {
		return err
	}
	for _, p := range programs {
		if _, err := fmt.Fprintln(out, p.Name); err != nil {
			return errors.WithStack(err)
		}
	}
	return nil
}

// goTool runs the go command.
func goTool(args ...string) ([]byte, error) {
	var complaints strings.Builder
	command := exec.Command("go", args...)
	command.Stderr = &complaints
	out, err := command.Output()
	return out, errors.Wrapf(err, "go %s: %s", args[0], strings.TrimSpace(complaints.String()))
}
