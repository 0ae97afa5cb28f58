// Command analyze takes the residual stream of a trained model apart.
package main

import (
	"os"

	"github.com/residua-go/residua/command/analyze"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

func main() {
	command, args := analyze.Suite(models.Standard()).Choose(os.Args[1:])
	os.Exit(cli.Main(command, args, os.Stdout, os.Stderr))
}
