// Package analyze is the commands that take the residual stream of a trained model apart.
package analyze

import (
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

// Suite is the analyses of models of the designs in a zoo.
func Suite(zoo models.Zoo) cli.Suite {
	return cli.Suite{
		Name:    "analyze",
		Summary: "take the residual stream of a trained model apart",
		Example: `
			train -config quickstart    # makes runs/quickstart
			analyze lens -checkpoint runs/quickstart -prompt "if err != " -out /tmp/lens
			analyze theory -out /tmp/theory`,
		Notes: `
			Each command writes its result as a table to standard output; -json writes one JSON
			document in its place. With -out DIR the folder gets a page that opens offline,
			index.html, and next to it each figure as SVG and PNG and each table as CSV and Markdown.`,
		Commands: commands(zoo),
	}
}

// commands are the analyses, in the order of -h.
func commands(zoo models.Zoo) []cli.Command {
	return []cli.Command{
		attribute(zoo),
		lens(zoo),
		heads(zoo),
		circuits(zoo),
		wiring(zoo),
		basis(zoo),
		directions(zoo),
		rotation(zoo),
		subspaces(zoo),
		paths(zoo),
		memory(zoo),
		ablate(zoo),
		patch(zoo),
		mixes(zoo),
		export(zoo),
		steer(zoo),
		theoryCommand(zoo),
	}
}
