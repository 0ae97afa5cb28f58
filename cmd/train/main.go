// Command train trains a model as a run config says.
package main

import (
	"os"
	"slices"

	"github.com/residua-go/residua/cli/train"
	"github.com/residua-go/residua/generate/chat"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/models"
)

func main() {
	if slices.Equal(os.Args[1:], []string{chat.Word}) {
		os.Exit(chat.Run(os.Stdin, os.Stdout))
	}
	os.Exit(commandline.Main(train.Command(models.Standard()), os.Args[1:], os.Stdout, os.Stderr))
}
