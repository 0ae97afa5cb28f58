// Command convert writes a trained model in another program's format, or another program's as one of ours.
package main

import (
	"os"

	"github.com/residua-go/residua/command/convert"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

func main() {
	os.Exit(cli.Main(convert.Command(models.Standard()), os.Args[1:], os.Stdout, os.Stderr))
}
