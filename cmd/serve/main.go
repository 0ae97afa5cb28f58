// Command serve answers HTTP requests with a trained model, by OpenAI's API for completions.
package main

import (
	"os"

	"github.com/residua-go/residua/command/serve"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

func main() {
	os.Exit(cli.Main(serve.Command(models.Standard()), os.Args[1:], os.Stdout, os.Stderr))
}
