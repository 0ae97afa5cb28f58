// Command train trains a model as a run config says.
package main

import (
	"os"

	"github.com/residua-go/residua/cli/train"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/models"
)

func main() {
	os.Exit(commandline.Main(train.Command(models.Standard()), os.Args[1:], os.Stdout, os.Stderr))
}
