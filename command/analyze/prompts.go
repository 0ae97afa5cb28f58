package analyze

import (
	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/analysis/mixing"
	"github.com/residua-go/residua/analysis/report"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

// The analyses of one run on a prompt.

func attribute(zoo models.Zoo) cli.Command {
	var list promptList
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisAttribute,
		Summary: "a logit as a sum over all that wrote to the stream: tables, heads, neurons",
		Example: `
			analyze attribute -checkpoint runs/quickstart
			analyze attribute -checkpoint runs/quickstart -prompt "if err != " -target n -against e -out /tmp/attribute
			analyze attribute -checkpoint runs/quickstart -prompts prompts.txt    # means over prompts, standard errors`,
		Notes: `
			Direct logit attribution (Elhage et al. 2021): the terms add up to the model's own logit,
			with mixing coefficients, gates and norms' scales as they were in the run. -layer, -head and -top
			choose the heads and neurons that are listed; the table by site has all.`,
	}, func(m *report.Model, o report.AttributeOptions) (r *report.Report, err error) {
		if o.Prompts, err = list.read(); err != nil {
			return nil, err
		}
		return report.Attribute(m, o)
	}, &list)
}

func lens(zoo models.Zoo) cli.Command {
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisLens,
		Summary: "the logit lens: what the model would say if nothing more were written",
		Example: `
			analyze lens -checkpoint runs/quickstart
			analyze lens -checkpoint runs/quickstart -prompt "if err != " -target n -out /tmp/lens
			analyze lens -checkpoint runs/quickstart -tuned -out /tmp/tuned    # a tuned lens, trained in a minute
			analyze lens -checkpoint runs/quickstart -tuned-file /tmp/tuned/` + report.TunedFile + ` -prompt "func "`,
		Notes: `
			The stream after each sublayer is read out by the final norm and the unembedding; of the
			matrix stream also each key direction of the readout alone. -tuned trains an affine map for
			each writer, so that what is read out is as near as it can be to what the model says at its
			end (Belrose et al. 2023); -out keeps the maps, -tuned-file looks through them again.`,
	}, report.Lens)
}

func heads(zoo models.Zoo) cli.Command {
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisHeads,
		Summary: "induction and previous-token heads, and what heads attend to in a prompt",
		Example: `
			analyze heads -checkpoint runs/quickstart
			analyze heads -checkpoint runs/quickstart -prompt "for i := 0; i < n; i++ {" -layer 1 -out /tmp/heads`,
		Notes: `
			With -layer and -head, that head is shown as one linear map of the sequence, A ⊗ W_OV.
			Scores are measured on random tokens that repeat once (Olsson et al. 2022). Without a
			prompt that the model can read, attention is shown on the first of those rows.`,
	}, report.Heads)
}

func basis(zoo models.Zoo) cli.Command {
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisBasis,
		Summary: "whether the stream's own basis is privileged: kurtosis, compared with random rotations",
		Example: `
			analyze basis -checkpoint runs/quickstart
			analyze basis -checkpoint runs/quickstart -prompt "$(cat command/command.go)" -out /tmp/basis`,
		Notes: `
			The more tokens, the surer the numbers: a prompt may be of any length here, it is read in
			rows as long as those of training (Elhage, Lasenby & Olah 2023).`,
	}, report.Basis)
}

func directions(zoo models.Zoo) cli.Command {
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisDirections,
		Summary: "a search for an interpretable basis: sparse directions, compared with random ones",
		Example: `
			analyze directions -checkpoint runs/quickstart -rows 64
			analyze directions -checkpoint runs/quickstart -rows 64 -name blocks.1.attention.stream -count 16 -out /tmp/directions`,
		Notes: `
			Independent component analysis (FastICA) of one activation on half of the text; the kurtosis
			along what it finds is measured on the other half, next to random and principal directions and
			the activation's own entries. A prompt may be of any length: it is read in rows.`,
	}, report.Directions)
}

func rotation(zoo models.Zoo) cli.Command {
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisRotation,
		Summary: "how far logits move when the stream is rotated, and what optimizers do to that",
		Example: `
			analyze rotation -checkpoint runs/quickstart
			analyze rotation -checkpoint runs/quickstart -seeds 5 -steps 50 -out /tmp/rotation`,
		Notes: `
			The stream is rotated by random orthogonal matrices, folded into the weights; what breaks
			the invariance is measured, one cause at a time. Then the model and a rotated copy are
			trained on the same tokens, at most 16.`,
	}, report.Rotation)
}

func ablate(zoo models.Zoo) cli.Command {
	var list promptList
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisAblate,
		Summary: "what the model loses when activations are taken away: heads, writers, or named ones",
		Example: `
			analyze ablate -checkpoint runs/quickstart -out /tmp/ablate
			analyze ablate -checkpoint runs/quickstart -names blocks.1.attention.heads -at head=3,token=5 -target b
			analyze ablate -checkpoint runs/quickstart -rows 16 -with resample    # over validation text, standard errors
			analyze ablate -checkpoint runs/quickstart -blocks    # what each block and sublayer is worth`,
		Notes: `
			Without -names, every head is set to 0 in turn, and all that each writer writes, token by
			token. What changes is measured on the mean loss of the next token or, with -token,
			-target or -against, on a logit. -prompts and -rows average the effects of heads over several
			texts, where -with mean leaves what is the same at all tokens and -with resample puts in
			what another text gives.`,
	}, func(m *report.Model, o report.AblateOptions) (r *report.Report, err error) {
		if o.Prompts, err = list.read(); err != nil {
			return nil, err
		}
		return report.Ablate(m, o)
	}, &list)
}

func patch(zoo models.Zoo) cli.Command {
	var list pairList
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisPatch,
		Summary: "which activations carry the difference of two prompts (activation patching)",
		Example: `
			analyze patch -checkpoint runs/quickstart -out /tmp/patch
			analyze patch -checkpoint runs/quickstart -prompt "var x int = " -corrupt "var x str = "
			analyze patch -checkpoint runs/quickstart -prompts pairs.jsonl -method attribution    # means over pairs, by gradients`,
		Notes: `
			An activation of the run on -prompt is put into the run on -corrupt, one place after the
			other: 1 is all of the metric's difference back, 0 nothing. The metric is the logit of
			-target, by default the likeliest answer to -prompt, minus that of -against, by default the
			likeliest to -corrupt. -method attribution takes effects to first order, by one gradient in
			the place of a run for each place (attribution patching; Nanda 2023, Syed et al. 2023).`,
	}, func(m *report.Model, o report.PatchOptions) (r *report.Report, err error) {
		if o.Pairs, err = list.read(); err != nil {
			return nil, err
		}
		return report.Patch(m, o)
	}, &list)
}

func paths(zoo models.Zoo) cli.Command {
	var list promptList
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisPaths,
		Summary: "what the paths through 0, 1, 2, ... sublayers take off the loss, attention patterns held",
		Example: `
			analyze paths -checkpoint runs/attention-only -rows 16
			analyze paths -checkpoint runs/attention-only -rows 4 -heads -out /tmp/paths`,
		Notes: `
			The term importance analysis of Elhage et al. 2021: the model runs with its patterns of
			attention held and all sublayers' outputs 0, then with those that this run would have
			made, and so on. In a model of two layers of attention alone (-config attention-only) two
			steps are the virtual heads.`,
	}, func(m *report.Model, o report.PathsOptions) (r *report.Report, err error) {
		if o.Prompts, err = list.read(); err != nil {
			return nil, err
		}
		return report.Paths(m, o)
	}, &list)
}

func mixes(zoo models.Zoo) cli.Command {
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisMixing,
		Summary: "does the stream mix? how far its coefficients moved, who reads which layer, what a row holds",
		Example: `
			analyze mixing -checkpoint runs/attnres
			analyze mixing -checkpoint runs/mhc -out /tmp/mixing    # after train -set train.log_mixing=50 with its steps, too`,
		Notes: `
			The coefficients of a run on the prompt are compared with those of the model before its
			first step. Each row of the stream is set to 0 after a site and given back after the next:
			the share of the loss that comes back was the row's own. Where sites read sums over depth:
			who reads which layer, and what the loss is when a source is left out of all sums, or kept by
			one reader alone.`,
	}, func(m *report.Model, o report.MixingOptions) (r *report.Report, err error) {
		if o.History, err = mixing.ReadHistory(m.Name); err != nil {
			return nil, err
		}
		return report.Mixing(m, o)
	})
}

func export(zoo models.Zoo) cli.Command {
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisExport,
		Summary: "activations of a run on a prompt, by name, as safetensors or .npy files",
		Example: `
			analyze export -checkpoint runs/quickstart    # lists all names
			analyze export -checkpoint runs/quickstart -prompt "if err != " -names 'blocks.*.attention.heads' -safetensors /tmp/heads.safetensors
			analyze export -checkpoint runs/quickstart -names 'blocks.*.*.stream' -npy /tmp/stream`,
		Notes: `
			Values are float32, the last axis changes fastest. The names of the axes and the prompt's
			tokens are JSON in the safetensors file's metadata (axes, tokens), and in the folder's
			` + report.IndexFile + `. Both are written whole or not at all.`,
	}, report.Export)
}

func steer(zoo models.Zoo) cli.Command {
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisSteer,
		Summary: "what the model says with a direction added to its stream: text with and without",
		Example: `
			analyze steer -checkpoint runs/quickstart -toward "return err" -away "return nil" -scale 4
			analyze steer -checkpoint runs/quickstart -prompt "if err != " -toward "// " -name blocks.1.attention.heads -at head=2`,
		Notes: `
			The direction is the activation at the last token of -toward, minus that of -away; it is added
			to every token of the prompt and of the text (Turner et al. 2023). analyze export lists the names.`,
	}, report.Steer)
}
