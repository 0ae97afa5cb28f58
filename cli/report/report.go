// Package report holds the command that shows what runs have logged, as one page
// (experiment.RunsPage); package analysis/report writes up what analyses find in a trained model.
package report

import (
	"context"
	"io"
	"path/filepath"

	"github.com/residua-go/residua/experiment"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/models"
)

// Command returns the command that makes the page of runs of models of a zoo.
func Command(zoo models.Zoo) commandline.Command {
	c := &call{zoo: zoo}
	return commandline.Command{
		Name:    "report",
		Summary: "show training runs in one HTML page: losses, rates, norms, samples, configs",
		Example: `
			report runs/quickstart                     # writes runs/quickstart/report.html
			report runs/quickstart runs/slower         # several runs in the same charts: runs/report.html`,
		Notes: `
			The page needs no network and no other file. It reads what train has written, also while a run goes on, and trains
			nothing. Norms by depth are there after train -set train.log_norms=50, mixing coefficients after
			-set train.log_mixing=50, samples after -set sample.every=200.`,
		Settings: c,
		Run:      c.run,
	}
}

// call holds the arguments of a call.
type call struct {
	zoo models.Zoo

	Folders []string `yaml:"folders" arg:"RUN..." help:"folders of runs"`
	Out     string   `yaml:"out" help:"write the page to <FILE>; without, report.html in the run's folder, or in the folder that holds the first of several runs"`
}

func (c *call) run(_ context.Context, out commandline.Output) error {
	if len(c.Folders) == 0 {
		return commandline.Usagef("want the folders of runs, as in report runs/quickstart, got none")
	}
	runs, warnings, err := experiment.ReadRuns(c.zoo, c.Folders)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		out.Warn(w)
	}
	if c.Out == "" {
		folder := c.Folders[0]
		if len(c.Folders) > 1 {
			folder = filepath.Dir(filepath.Clean(folder))
		}
		c.Out = filepath.Join(folder, "report.html")
	}
	if err := Write(c.Out, runs, ""); err != nil {
		return err
	}
	return out.Print(experiment.RunsTable(runs).Within(out.Columns()).Text() + "files:\n  " + c.Out + "\n")
}

// Write writes the page of runs to a file, whole or not at all; the page begins with the text.
func Write(file string, runs []experiment.Run, text string) error {
	p, err := experiment.RunsPage(runs, text)
	if err != nil {
		return err
	}
	html, err := p.HTML()
	if err != nil {
		return err
	}
	return commandline.WriteFile(file, func(w io.Writer) error { _, err := w.Write(html); return err })
}
