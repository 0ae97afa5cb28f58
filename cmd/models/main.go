// Command models lists presets and what each takes.
package main

import (
	"os"

	command "github.com/residua-go/residua/command/models"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

func main() {
	os.Exit(cli.Main(command.Command(models.Standard()), os.Args[1:], os.Stdout, os.Stderr))
}
