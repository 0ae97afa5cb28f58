// Command bench measures training speed on this machine.
package main

import (
	"os"

	command "github.com/residua-go/residua/command/bench"
	"github.com/residua-go/residua/experiment/bench"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

func main() {
	if bench.IsChild() {
		os.Exit(bench.RunChild(models.Standard(), os.Stdin, os.Stdout))
	}
	chosen, args := command.Suite(models.Standard()).Choose(os.Args[1:])
	os.Exit(cli.Main(chosen, args, os.Stdout, os.Stderr))
}
