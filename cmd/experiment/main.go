// Command experiment plans, trains and reports experiments of many runs.
package main

import (
	"os"

	command "github.com/residua-go/residua/command/experiment"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

func main() {
	os.Exit(cli.Main(command.Command(models.Standard()), os.Args[1:], os.Stdout, os.Stderr))
}
