// Package compare holds the command that compares runs which were trained before.
package compare

import (
	"context"
	"path/filepath"

	"github.com/residua-go/residua/experiment"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/models"
)

// Command returns the command that compares runs of models of a zoo.
func Command(zoo models.Zoo) commandline.Command {
	c := &call{zoo: zoo, Out: filepath.Join("runs", "compare"), Axis: "tokens"}
	return commandline.Command{
		Name:    "compare",
		Summary: "compare runs that were trained before: a table, and a plot of the loss",
		Example: `
			train -config quickstart -set train.lr=1e-3 -out runs/slower    # a second run to compare with runs/quickstart
			compare runs/quickstart runs/slower`,
		Notes: `
			It reads what train and experiment have written, finished or not, and trains nothing: experiment trains several
			models to compare them, each at the best of several rates and with several seeds.`,
		Settings: c,
		Run:      c.run,
	}
}

// call holds the arguments of a call.
type call struct {
	zoo models.Zoo

	Folders []string `yaml:"folders" arg:"RUN..." help:"folders of runs"`
	Out     string   `yaml:"out" help:"draw the plot into <DIR>, in a file named after the runs"`
	SVG     string   `yaml:"svg" help:"draw the plot into <FILE> instead"`
	Axis    string   `yaml:"x" choices:"tokens, flops" help:"plot the loss against <tokens|flops>"`
	JSON    bool     `yaml:"json" help:"print one line of JSON instead of a table"`
}

func (c *call) run(_ context.Context, out commandline.Output) error {
	if len(c.Folders) == 0 {
		return commandline.Usagef("want the folders of runs, as in compare runs/quickstart runs/slower, got none")
	}
	runs, warnings, err := experiment.ReadRuns(c.zoo, c.Folders)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		out.Warn(w)
	}
	if c.SVG == "" {
		c.SVG = filepath.Join(c.Out, experiment.PictureName(runs))
	}
	if err := commandline.WriteFigure(c.SVG, experiment.LossChart(runs, c.Axis == "flops")); err != nil {
		return err
	}
	if c.JSON {
		return out.PrintJSON(runs)
	}
	return out.Print(experiment.RunsTable(runs).Within(out.Columns()).Text() + "files:\n  " + c.SVG + "\n")
}
