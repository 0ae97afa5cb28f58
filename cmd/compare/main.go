// Command compare compares training runs, trains configs on one budget to compare them, and checks muP.
package main

import (
	"os"

	command "github.com/residua-go/residua/command/compare"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

func main() {
	os.Exit(cli.Main(command.Command(models.Standard()), os.Args[1:], os.Stdout, os.Stderr))
}
