// Command generate continues a text with a trained model.
package main

import (
	"os"

	"github.com/residua-go/residua/command/generate"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

func main() {
	os.Exit(cli.Main(generate.Command(models.Standard(), os.Stdin), os.Args[1:], os.Stdout, os.Stderr))
}
