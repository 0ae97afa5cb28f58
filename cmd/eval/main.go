// Command eval scores text with a trained model.
package main

import (
	"os"

	"github.com/residua-go/residua/command/eval"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

func main() {
	os.Exit(cli.Main(eval.Command(models.Standard()), os.Args[1:], os.Stdout, os.Stderr))
}
