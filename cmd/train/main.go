// Command train trains a model as a run config says.
package main

import (
	"os"

	"github.com/residua-go/residua/command/train"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

func main() {
	os.Exit(cli.Main(train.Command(models.Standard()), os.Args[1:], os.Stdout, os.Stderr))
}
