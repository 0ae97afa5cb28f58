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
	os.Exit(cli.Main(command.Command(models.Standard()), os.Args[1:], os.Stdout, os.Stderr))
}
