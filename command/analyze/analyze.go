// Command analyze takes the residual stream of a trained model apart.
package main

import (
	"os"

	"github.com/residua-go/residua/internal/cli"
)

func main() {
	command, args := suite().Choose(os.Args[1:])
	os.Exit(cli.Main(command, args, os.Stdout, os.Stderr))
}

func suite() cli.Suite {
	return cli.Suite{
		Name:    "analyze",
		Summary: "take the residual stream of a trained model apart",
		Example: []string{
			"# after: go run ./cmd/train -config configs/quickstart.yaml",
			`go run ./cmd/analyze lens -checkpoint runs/quickstart -prompt "if err != " -out /tmp/lens`,
			"go run ./cmd/analyze theory -out /tmp/theory",
		},
		Notes: []string{
			"Each command writes its result as a table to standard output; -json writes one JSON",
			"document in its place. With -out DIR the folder gets a page that opens offline,",
			"index.html, and beside it each figure as SVG and PNG and each table as CSV.",
		},
		Commands: commands(),
	}
}

// commands are the analyses, in the order of -h.
func commands() []cli.Command {
	return []cli.Command{
		attribute(),
		lens(),
		heads(),
		circuits(),
		wiring(),
		basis(),
		rotation(),
		subspaces(),
		memory(),
		ablate(),
		patch(),
		theoryCommand(),
	}
}
