// Package cli is a complete program for a zoo of models, with the commands prepare, train, eval,
// generate, serve, models, compare, report, tour, experiment, convert, sae, bench, analyze and new.
// It is meant for those who add a residual stream of their own:
//
//	zoo := models.Standard().With(MyDesign{}, presets...)
//	os.Exit(cli.Main(zoo, os.Args[1:], os.Stdout, os.Stderr))
package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/residua-go/residua/cli/analyze"
	"github.com/residua-go/residua/cli/bench"
	"github.com/residua-go/residua/cli/compare"
	"github.com/residua-go/residua/cli/convert"
	"github.com/residua-go/residua/cli/create"
	"github.com/residua-go/residua/cli/eval"
	"github.com/residua-go/residua/cli/experiment"
	"github.com/residua-go/residua/cli/generate"
	list "github.com/residua-go/residua/cli/models"
	"github.com/residua-go/residua/cli/prepare"
	"github.com/residua-go/residua/cli/report"
	"github.com/residua-go/residua/cli/serve"
	"github.com/residua-go/residua/cli/tour"
	"github.com/residua-go/residua/cli/train"
	measure "github.com/residua-go/residua/experiment/bench"
	"github.com/residua-go/residua/generate/chat"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/models"
)

// Main runs the command that the first argument names, on models of the designs in a zoo, and
// returns the process's exit code: 0 for success, 1 if the work failed, 2 if the call, the config
// or something they name is wrong. Help and errors use the program's file name, from os.Args[0]. A
// command may read os.Stdin, and stops on an interrupt; bench starts the program again, without
// arguments, for each model that it measures; a chat starts it again with the argument chat.Word.
func Main(zoo models.Zoo, args []string, stdout, stderr io.Writer) int {
	if measure.IsChild() {
		return measure.RunChild(zoo, os.Stdin, stdout)
	}
	if slices.Equal(args, []string{chat.Word}) {
		return chat.Run(os.Stdin, stdout)
	}
	program := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	all := suite(zoo, program)
	command, rest := all.Choose(args)
	if err := checkKinds(zoo, all); err != nil {
		command.Run = func(context.Context, commandline.Output) error { return commandline.Usage(err) }
	}
	return commandline.Main(command, rest, stdout, stderr)
}

func suite(zoo models.Zoo, program string) commandline.Suite {
	return commandline.Suite{
		Name: program, Program: program,
		Summary: "train and examine language models of these residual streams: " + strings.Join(zoo.StreamNames(), ", "),
		Example: `
			train -config FILE
			models -residuals    # what each residual stream chooses`,
		Notes: `
			source <(` + program + ` completion) completes commands and flags in bash.`,
		Commands: append([]commandline.Command{prepare.Command(), train.Command(zoo), eval.Command(zoo), generate.Command(zoo, os.Stdin), serve.Command(zoo),
			list.Command(zoo), compare.Command(zoo), report.Command(zoo), tour.Command(zoo), experiment.Command(zoo), convert.Command(zoo),
			analyze.SAE(zoo)}, commandsOf(zoo)...),
		Suites: []commandline.Suite{bench.Suite(zoo), analyze.Suite(zoo), create.Suite(zoo)},
	}
}
