package analyze

import (
	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/analysis/report"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

// The analyses of weights.

// onlyWhereMixed is the note on the prompt of an analysis of weights.
const onlyWhereMixed = "A prompt matters only in streams that mix what was written."

func circuits(zoo models.Zoo) cli.Command {
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisCircuits,
		Summary: "QK and OV circuits of heads: eigenvalues, copying scores, composition",
		Example: `
			analyze circuits -checkpoint runs/quickstart
			analyze circuits -checkpoint runs/quickstart -layer 1 -head 3 -out /tmp/circuits`,
		Notes: `
			Circuits as in Elhage et al. 2021, norms folded into the weights, QK-norm's and
			LayerScale's gains, too; the scales by which norms divide depend on the token and are left
			out. With -layer and -head, that head's circuits are shown alone, with their eigenvalues.
			` + onlyWhereMixed,
	}, report.Circuits)
}

func wiring(zoo models.Zoo) cli.Command {
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisWiring,
		Summary: "the wiring diagram: who writes where, and who reads it, by virtual weights",
		Example: `
			analyze wiring -checkpoint runs/quickstart -out /tmp/wiring
			analyze wiring -checkpoint runs/quickstart -from embedding -to blocks.1.attention.3.q`,
		Notes: `
			A connection's strength is compared with random weights: the same ones, rotated at random. -fdr
			says how many of the connections that are kept may be there by chance. -from and -to show the
			virtual weights of one connection; writers are embedding, positions, blocks.0.attention (or .1 for
			a head), blocks.0.feedforward, readers blocks.0.attention.q (or .1.q), blocks.0.feedforward,
			unembedding.
			` + onlyWhereMixed,
	}, report.Wiring)
}

func subspaces(zoo models.Zoo) cli.Command {
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisSubspaces,
		Summary: "what sites read and write: spectra, overlaps, disjoint heads, bandwidth, erasers",
		Example: `
			analyze subspaces -checkpoint runs/quickstart
			analyze subspaces -checkpoint runs/quickstart -out /tmp/subspaces`,
		Notes: `
			It looks at weights alone. A model of GPT-2 small's size takes a minute on two cores.`,
	}, report.Subspaces)
}

func memory(zoo models.Zoo) cli.Command {
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisMemory,
		Summary: "the matrix stream as an associative memory: the model's keys, what readers get of each write, retrieval error",
		Example: `
			analyze memory -checkpoint runs/quickstart
			analyze memory -checkpoint runs/quickstart -prompt "if err != nil {"
			analyze memory -checkpoint runs/quickstart -seeds 32 -out /tmp/memory`,
		Notes: `
			The model's own keys are measured; then, on a prompt, what each reader gets of each writer:
			its read is attention over the earlier writes, r X = sum of (r . w_i) y_i. Last, random
			key-value pairs are stored in one matrix of the model's Dk x Dv and read back, next to the
			theory of outer-product memories.`,
	}, report.Memory)
}
