// Package analyze holds the commands that analyse the residual stream of a trained model.
package analyze

import (
	"github.com/residua-go/residua/analysis/report"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/models"
)

// SAE returns the command that trains sparse autoencoders.
func SAE(zoo models.Zoo) commandline.Command { return command(zoo, report.SAE{}, nil) }

// Suite returns the analyses, as commands on models of the designs in a zoo, which may bring
// analyses of its own.
func Suite(zoo models.Zoo) commandline.Suite {
	s := commandline.Suite{
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
	}
	all, err := report.Analyses(zoo)
	for _, a := range all {
		s.Commands = append(s.Commands, command(zoo, a, err))
	}
	s.Commands = append(s.Commands, command(zoo, report.Features{}, err)) // of a folder, which an explorer does not name
	return s
}
