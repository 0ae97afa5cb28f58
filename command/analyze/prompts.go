package analyze

import (
	"flag"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/analysis/mixing"
	"github.com/residua-go/residua/analysis/report"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

// The analyses of one run on a prompt.

func attribute(zoo models.Zoo) cli.Command {
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisAttribute,
		Summary: "a logit as a sum over all that wrote to the stream: tables, heads, neurons",
		Example: []string{
			"analyze attribute -checkpoint runs/quickstart",
			`analyze attribute -checkpoint runs/quickstart -prompt "if err != " -target n -against e -out /tmp/attribute`,
			"analyze attribute -checkpoint runs/quickstart -prompts prompts.txt    # means over prompts, standard errors",
		},
		Notes: []string{
			"Direct logit attribution (Elhage et al. 2021): the terms add up to the model's own logit,",
			"with mixing coefficients, gates and norms' scales as they were in the run. -layer, -head and -top",
			"choose the heads and neurons that are listed; the table by site has all.",
		},
	}, report.Attribute, func(flags *flag.FlagSet, o *report.AttributeOptions) {
		promptFlags(flags, &o.Prompt, "")
		targetFlags(flags, &o.Target)
		listFlag(flags, &o.Prompts)
		againstFlag(flags, &o.Target)
		placeFlags(flags, &o.Place)
		topFlag(flags, &o.Top, "list the `N` largest contributions")
	})
}

func lens(zoo models.Zoo) cli.Command {
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisLens,
		Summary: "the logit lens: what the model would say if nothing more were written",
		Example: []string{
			"analyze lens -checkpoint runs/quickstart",
			`analyze lens -checkpoint runs/quickstart -prompt "if err != " -target n -out /tmp/lens`,
			"analyze lens -checkpoint runs/quickstart -tuned -out /tmp/tuned    # a tuned lens, trained in a minute",
			"analyze lens -checkpoint runs/quickstart -tuned-file /tmp/tuned/" + report.TunedFile + ` -prompt "func "`,
		},
		Notes: []string{
			"The stream after each sublayer is read out by the final norm and the unembedding; of the",
			"matrix stream also each key direction of the readout alone. -tuned trains an affine map for",
			"each writer, so that what is read out is as near as it can be to what the model says at its",
			"end (Belrose et al. 2023); -out keeps the maps, -tuned-file looks through them again.",
		},
	}, report.Lens, func(flags *flag.FlagSet, o *report.LensOptions) {
		promptFlags(flags, &o.Prompt, "")
		targetFlags(flags, &o.Target)
		flags.BoolVar(&o.Tuned.Train, "tuned", false, "train a tuned lens, too, and look through it")
		textFlag(flags, &o.Tuned.File, "tuned-file", "look through the tuned lens of `FILE`, "+report.TunedFile+" of an -out folder, too")
		flags.Var((*cli.List)(&o.Tuned.Data), "data", "train -tuned on text `FILE` or a folder of token shards; may be repeated; without, the run's validation text")
		countFlag(flags, &o.Tuned.Tokens, "tuned-tokens", 8192, 2, "train -tuned on at most `N` tokens, of which it keeps a fifth to be measured on")
		countFlag(flags, &o.Tuned.Steps, "tuned-steps", 200, 1, "train -tuned for `N` steps of 512 tokens")
	})
}

func heads(zoo models.Zoo) cli.Command {
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisHeads,
		Summary: "induction and previous-token heads, and what heads attend to in a prompt",
		Example: []string{
			"analyze heads -checkpoint runs/quickstart",
			`analyze heads -checkpoint runs/quickstart -prompt "for i := 0; i < n; i++ {" -layer 1 -out /tmp/heads`,
		},
		Notes: []string{
			"With -layer and -head, that head is shown as one linear map of the sequence, A ⊗ W_OV.",
			"Scores are measured on random tokens that repeat once (Olsson et al. 2022). Without a",
			"prompt that the model can read, attention is shown on the first of those rows.",
		},
	}, report.Heads, func(flags *flag.FlagSet, o *report.HeadsOptions) {
		promptFlags(flags, &o.Prompt, "")
		placeFlags(flags, &o.Place)
		countFlag(flags, &o.Period, "period", 0, 0, "repeat `N` random tokens; 0: 32, or as many as the model has positions for")
		countFlag(flags, &o.Rows, "rows", 4, 1, "average over `N` rows")
		seedFlag(flags, &o.Seed, "the random tokens")
	})
}

func basis(zoo models.Zoo) cli.Command {
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisBasis,
		Summary: "whether the stream's own basis is privileged: kurtosis, compared with random rotations",
		Example: []string{
			"analyze basis -checkpoint runs/quickstart",
			`analyze basis -checkpoint runs/quickstart -prompt "$(cat command/command.go)" -out /tmp/basis`,
		},
		Notes: []string{
			"The more tokens, the surer the numbers: a prompt may be of any length here, it is read in",
			"rows as long as those of training (Elhage, Lasenby & Olah 2023).",
		},
	}, report.Basis, func(flags *flag.FlagSet, o *report.BasisOptions) {
		promptFlags(flags, &o.Prompt, "")
		countFlag(flags, &o.Controls, "controls", 8, 1, "compare with `N` random rotations")
		seedFlag(flags, &o.BasisOptions.Seed, "the rotations")
	})
}

func directions(zoo models.Zoo) cli.Command {
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisDirections,
		Summary: "a search for an interpretable basis: sparse directions, compared with random ones",
		Example: []string{
			"analyze directions -checkpoint runs/quickstart -rows 64",
			"analyze directions -checkpoint runs/quickstart -rows 64 -name blocks.1.attention.stream -count 16 -out /tmp/directions",
		},
		Notes: []string{
			"Independent component analysis (FastICA) of one activation on half of the text; the kurtosis",
			"along what it finds is measured on the other half, next to random and principal directions and",
			"the activation's own entries. A prompt may be of any length: it is read in rows.",
		},
	}, report.Directions, func(flags *flag.FlagSet, o *report.DirectionsOptions) {
		promptFlags(flags, &o.Prompt, "")
		rowsFlag(flags, &o.Rows)
		textFlag(flags, &o.Name, "name", "look at activation `NAME`; without, the stream in the middle of the model")
		countFlag(flags, &o.Count, "count", 0, 0, "find `N` directions; 0: 32, or as many as there is text for")
		seedFlag(flags, &o.Seed, "the start of the search and the random directions")
		topFlag(flags, &o.Top, "list the `N` sparsest")
	})
}

func rotation(zoo models.Zoo) cli.Command {
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisRotation,
		Summary: "how far logits move when the stream is rotated, and what optimizers do to that",
		Example: []string{
			"analyze rotation -checkpoint runs/quickstart",
			"analyze rotation -checkpoint runs/quickstart -seeds 5 -steps 50 -out /tmp/rotation",
		},
		Notes: []string{
			"The stream is rotated by random orthogonal matrices, folded into the weights; what breaks",
			"the invariance is measured, one cause at a time. Then the model and a rotated copy are",
			"trained on the same tokens, at most 16.",
		},
	}, report.Rotation, func(flags *flag.FlagSet, o *report.RotationOptions) {
		promptFlags(flags, &o.Prompt, "")
		countFlag(flags, &o.Seeds, "seeds", 3, 1, "try `N` rotations")
		countFlag(flags, &o.Steps, "steps", 10, 0, "train both models for `N` steps with each optimizer; 0: don't")
		seedFlag(flags, &o.Seed, "the rotations")
	})
}

func ablate(zoo models.Zoo) cli.Command {
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisAblate,
		Summary: "what the model loses when activations are taken away: heads, writers, or named ones",
		Example: []string{
			"analyze ablate -checkpoint runs/quickstart -out /tmp/ablate",
			"analyze ablate -checkpoint runs/quickstart -names blocks.1.attention.heads -at head=3,token=5 -target b",
			"analyze ablate -checkpoint runs/quickstart -rows 16 -with resample    # over validation text, standard errors",
		},
		Notes: []string{
			"Without -names, every head is set to 0 in turn, and all that each writer writes, token by",
			"token. What changes is measured on the mean loss of the next token or, with -token,",
			"-target or -against, on a logit. -prompts and -rows average the effects of heads over several",
			"texts, where -with mean leaves what is the same at all tokens and -with resample puts in",
			"what another text gives.",
		},
	}, report.Ablate, func(flags *flag.FlagSet, o *report.AblateOptions) {
		promptFlags(flags, &o.Prompt, "")
		targetFlags(flags, &o.Target)
		listFlag(flags, &o.Prompts)
		rowsFlag(flags, &o.Rows)
		flags.Func("with", "put `WHAT` in the place of what is taken away: zero, mean or resample; without, zero", func(value string) error {
			o.With = analysis.Replacement(value)
			return nil
		})
		flags.BoolVar(&o.Restore, "restore", false, "of -prompts or -rows, take all heads away and give back one at a time")
		againstFlag(flags, &o.Target)
		flags.Var((*cli.List)(&o.Names), "names", "take away the activations of name or glob `G`, such as blocks.*.attention.heads, all together; may be repeated")
		atFlag(flags, &o.At, "at", "of -names, take away the entries `AXIS=N,...` alone, such as head=3,token=5")
		topFlag(flags, &o.Top, "list the `N` largest effects")
	})
}

func patch(zoo models.Zoo) cli.Command {
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisPatch,
		Summary: "which activations carry the difference of two prompts (activation patching)",
		Example: []string{
			"analyze patch -checkpoint runs/quickstart -out /tmp/patch",
			`analyze patch -checkpoint runs/quickstart -prompt "var x int = " -corrupt "var x str = "`,
			"analyze patch -checkpoint runs/quickstart -prompts pairs.jsonl -method attribution    # means over pairs, by gradients",
		},
		Notes: []string{
			"An activation of the run on -prompt is put into the run on -corrupt, one place after the",
			"other: 1 is all of the metric's difference back, 0 nothing. The metric is the logit of",
			"-target, by default the likeliest answer to -prompt, minus that of -against, by default the",
			"likeliest to -corrupt. -method attribution takes effects to first order, by one gradient in",
			"the place of a run for each place (attribution patching; Nanda 2023, Syed et al. 2023).",
		},
	}, report.Patch, func(flags *flag.FlagSet, o *report.PatchOptions) {
		promptFlags(flags, &o.Prompt, "")
		textFlag(flags, &o.Corrupt, "corrupt", "patch into the run on `TEXT`, of as many tokens as -prompt")
		idsFlag(flags, &o.CorruptIDs, "corrupt-ids", "patch into the run on token ids `1,2,3`, as many as -ids")
		pairsFlag(flags, &o.Pairs)
		textFlag(flags, (*string)(&o.Method), "method", "find effects by `M`: activation, a run each (without), or attribution, all to first order by one gradient")
		targetFlags(flags, &o.Target)
		againstFlag(flags, &o.Target)
		topFlag(flags, &o.Top, "list the `N` largest effects")
	})
}

func paths(zoo models.Zoo) cli.Command {
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisPaths,
		Summary: "what the paths through 0, 1, 2, ... sublayers take off the loss, attention patterns held",
		Example: []string{
			"analyze paths -checkpoint runs/attention-only -rows 16",
			"analyze paths -checkpoint runs/attention-only -rows 4 -heads -out /tmp/paths",
		},
		Notes: []string{
			"The term importance analysis of Elhage et al. 2021: the model runs with its patterns of",
			"attention held and all sublayers' outputs 0, then with those that this run would have",
			"made, and so on. In a model of two layers of attention alone (-config attention-only) two",
			"steps are the virtual heads.",
		},
	}, report.Paths, func(flags *flag.FlagSet, o *report.PathsOptions) {
		promptFlags(flags, &o.Prompt, "")
		listFlag(flags, &o.Prompts)
		rowsFlag(flags, &o.Rows)
		flags.BoolVar(&o.Heads, "heads", false, "measure each head's path, and each virtual head of two, too: a run for each")
	})
}

func mixes(zoo models.Zoo) cli.Command {
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisMixing,
		Summary: "does the stream mix? how far its coefficients moved, who reads which layer, what a row holds",
		Example: []string{
			"analyze mixing -checkpoint runs/attnres",
			"analyze mixing -checkpoint runs/mhc -out /tmp/mixing    # after train -set train.log_mixing=50 with its steps, too",
		},
		Notes: []string{
			"The coefficients of a run on the prompt are compared with those of the model before its",
			"first step. Each row of the stream is set to 0 after a site and given back after the next:",
			"the share of the loss that comes back was the row's own. Where sites read sums over depth:",
			"who reads which layer, and what the loss is when a source is left out of all sums, or kept by",
			"one reader alone.",
		},
	}, func(m *report.Model, o report.MixingOptions) (*report.Report, error) {
		var err error
		if o.History, err = mixing.ReadHistory(m.Name); err != nil {
			return nil, err
		}
		return report.Mixing(m, o)
	}, func(flags *flag.FlagSet, o *report.MixingOptions) {
		promptFlags(flags, &o.Prompt, "")
		seedFlag(flags, &o.Seed, "the start that they are compared with")
	})
}

func export(zoo models.Zoo) cli.Command {
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisExport,
		Summary: "activations of a run on a prompt, by name, as safetensors or .npy files",
		Example: []string{
			"analyze export -checkpoint runs/quickstart    # lists all names",
			`analyze export -checkpoint runs/quickstart -prompt "if err != " -names 'blocks.*.attention.heads' -safetensors /tmp/heads.safetensors`,
			"analyze export -checkpoint runs/quickstart -names 'blocks.*.*.stream' -npy /tmp/stream",
		},
		Notes: []string{
			"Values are float32, the last axis changes fastest. The names of the axes and the prompt's",
			"tokens are JSON in the safetensors file's metadata (axes, tokens), and in the folder's",
			report.IndexFile + ". Both are written whole or not at all.",
		},
	}, report.Export, func(flags *flag.FlagSet, o *report.ExportOptions) {
		promptFlags(flags, &o.Prompt, "")
		flags.Var((*cli.List)(&o.Names), "names", "take the activations of name or glob `G`, such as blocks.*.attention.heads; may be repeated; without, all")
		textFlag(flags, &o.Safetensors, "safetensors", "write them to `FILE`, which is replaced if it is there")
		textFlag(flags, &o.NPY, "npy", "write each to NAME.npy in folder `DIR`, which is made")
	})
}

func steer(zoo models.Zoo) cli.Command {
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisSteer,
		Summary: "what the model says with a direction added to its stream: text with and without",
		Example: []string{
			`analyze steer -checkpoint runs/quickstart -toward "return err" -away "return nil" -scale 4`,
			`analyze steer -checkpoint runs/quickstart -prompt "if err != " -toward "// " -name blocks.1.attention.heads -at head=2`,
		},
		Notes: []string{
			"The direction is the activation at the last token of -toward, minus that of -away; it is added",
			"to every token of the prompt and of the text (Turner et al. 2023). analyze export lists the names.",
		},
	}, report.Steer, func(flags *flag.FlagSet, o *report.SteerOptions) {
		promptFlags(flags, &o.Prompt, "")
		textFlag(flags, &o.Toward, "toward", "steer to what the model makes of `TEXT`")
		textFlag(flags, &o.Away, "away", "and away from what it makes of `TEXT`")
		textFlag(flags, &o.Name, "name", "add to activation `NAME`; without, the stream after the attention of the middle block")
		atFlag(flags, &o.At, "at", "add to the entries `AXIS=N,...` alone, such as head=3")
		numberFlag(flags, &o.Scale, "scale", false, "add `S` times the direction; without, 1; below 0: the other way")
		countFlag(flags, &o.Tokens, "tokens", 40, 1, "continue the prompt by `N` tokens")
		numberFlag(flags, &o.Temperature, "temperature", true, "draw tokens at temperature `T`; without, 0: the likeliest")
		seedFlag(flags, &o.Seed, "the draws")
	})
}
