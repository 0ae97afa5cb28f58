package bench

import (
	"context"

	"github.com/residua-go/residua/experiment/bench"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/models"
)

// training is the command that measures how fast models train.
type training struct {
	Models []string `yaml:"models" split:"," default:"rmt-46m,transformer-49m,byte-rmt,byte-transformer,rmt-134m,transformer-162m"`
	Steps  int      `yaml:"steps" default:"5" min:"1" help:"time <N> steps in a turn"`
	bench.Size
	Recompute graph.Recompute `yaml:"recompute" default:"none" choices:"none, cheap, block" help:"the backward pass computes <PART> again: none, cheap or block"`
	target
	bench.PyTorch
	bench.JAX
	output
	SVG string `yaml:"svg" help:"draw the models' speed into <FILE>"`
}

// Help returns the help texts that are too long for tags, by key.
func (training) Help() map[string]string {
	return map[string]string{
		"models": "measure <A,B>, presets as the command models lists them (byte-rmt is quickstart)",
	}
}

func (c *training) run(ctx context.Context, zoo models.Zoo, out commandline.Output) error {
	all, err := bench.Choose(zoo, c.Models, c.Size)
	if err != nil {
		return commandline.Flag("models", err)
	}
	o, err := c.options()
	if err != nil {
		return err
	}
	o.Steps, o.Target.Recompute = c.Steps, c.Recompute
	table := (*bench.Bench).Models
	if c.PyTorch.Python+c.JAX.Python != "" {
		table = (*bench.Bench).Baselines
	}
	if err := use(ctx, o.Target, c.JAX.Python, &c.JAX, &o.JAX); err != nil {
		return err
	}
	return c.measure(ctx, out, o, &c.PyTorch, c.SVG, ofModels(all, table))
}

// designs is the command that measures residual designs.
type designs struct {
	Models []string `yaml:"models" split:"," help:"measure the presets <A,B>; without, all residual designs"`
	Shapes []string `yaml:"shapes" split:"," default:"byte,162m" help:"measure at the sizes <A,B>"`
	Optim  []string `yaml:"optim" split:"," default:"adamw" help:"train by the optimizers <A,B>: adamw or muon, whose updates have AdamW's size"`
	Steps  int      `yaml:"steps" min:"0" help:"time <N> steps in a turn; 0: 5, at 162m 1"`
	bench.Size
	target
	output
}

func (c *designs) run(ctx context.Context, zoo models.Zoo, out commandline.Output) error {
	if _, err := bench.Comparisons(zoo, c.Shapes, nil, bench.Size{}); err != nil {
		return commandline.Flag("shapes", err)
	}
	all, err := bench.Comparisons(zoo, c.Shapes, c.Models, c.Size)
	if err != nil {
		return commandline.Flag("models", err)
	}
	o, err := c.options()
	if err != nil {
		return err
	}
	o.Steps = c.Steps
	if err := bench.CheckOptimizers(c.Optim); err != nil {
		return commandline.Flag("optim", err)
	}
	var trained []bench.Comparison
	for _, optimizer := range c.Optim {
		for _, comparison := range all {
			trained = append(trained, comparison.TrainedBy(optimizer))
		}
	}
	return c.measure(ctx, out, o, nil, "", func(ctx context.Context, b *bench.Bench) error { return b.Designs(ctx, trained) })
}

// products is the command that measures matrix products.
type products struct {
	Precision graph.Precision `yaml:"precision" default:"fp32" choices:"fp32, bf16" help:"multiply in <P>: fp32, or bf16 with sums in float32"`
	host
	bench.PyTorch
	output
}

func (c *products) run(ctx context.Context, _ models.Zoo, out commandline.Output) error {
	on := c.target()
	if c.Precision == graph.BF16 {
		on.Precision = c.Precision
	}
	return c.measure(ctx, out, bench.Options{Target: on}, &c.PyTorch, "", func(ctx context.Context, b *bench.Bench) error { return b.Products(ctx) })
}

// generation is the command that measures how fast models generate.
type generation struct {
	Models []string `yaml:"models" split:"," default:"gpt2-124m" help:"measure <A,B>: gpt2-124m, GPT-2's smallest shape, or presets"`
	Steps  int      `yaml:"steps" default:"5" min:"1" help:"time <N> texts in a turn"`
	bench.Text
	target
	bench.PyTorch
	bench.LlamaCPP
	output
}

func (c *generation) run(ctx context.Context, zoo models.Zoo, out commandline.Output) error {
	all, err := bench.ChooseGeneration(zoo, c.Models, c.Text)
	if err != nil {
		return commandline.Flag("models", err)
	}
	o, err := c.options()
	if err != nil {
		return err
	}
	o.Steps = c.Steps
	if err := use(ctx, o.Target, c.LlamaCPP.Python, &c.LlamaCPP, &o.LlamaCPP); err != nil {
		return err
	}
	return c.measure(ctx, out, o, &c.PyTorch, "", ofModels(all, (*bench.Bench).Generation))
}

// show is the command that shows a saved report.
type show struct {
	File string `yaml:"file" arg:"FILE" help:"show what FILE has, which -out wrote"`
	JSON bool   `yaml:"json" help:"print the JSON object instead of tables"`
	SVG  string `yaml:"svg" help:"draw the models' speed into <FILE>"`
}

func (c *show) run(_ context.Context, _ models.Zoo, out commandline.Output) error {
	if c.File == "" {
		return commandline.Usagef("want a FILE that -out wrote, got nothing")
	}
	r, err := bench.ReadReport(c.File)
	if err != nil {
		return commandline.Usage(err)
	}
	printed := 0
	if !c.JSON {
		if err := printFrom(&printed, r, out); err != nil {
			return err
		}
	}
	return finish(r, c.JSON, c.SVG, out)
}
