package bench

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/stats"
)

// GenerationTiming is how fast one implementation reads a prompt and decodes. Our times are medians
// over all turns; another program's are from its fastest turn.
type GenerationTiming struct {
	PrefillSeconds  float64 `json:"prefill_seconds"` // up to the first token after the prompt
	PrefillTokensPS float64 `json:"prefill_tokens_per_s"`
	PrefillGFLOPS   float64 `json:"prefill_gflops"`
	PrefillShare    float64 `json:"prefill_peak_share"`
	TokenSeconds    float64 `json:"token_seconds"` // time from one decoded token of a text to the next
	TokensPS        float64 `json:"tokens_per_s"`  // of all texts that are decoded at a time
	PeakBytes       int     `json:"peak_bytes"`
}

// newGenerationTiming summarises a worker's times; typical chooses one of several times.
func newGenerationTiming(w Workload, of *worker, typical func([]float64) float64) GenerationTiming {
	prefill, token := typical(of.seconds), typical(of.tokenSeconds)
	return GenerationTiming{PrefillSeconds: prefill, PrefillTokensPS: float64(w.Text.Prompt) / prefill, PrefillGFLOPS: w.prefillFLOPs() / prefill / 1e9,
		TokenSeconds: token, TokensPS: float64(max(1, w.Text.Batch)) / token, PeakBytes: of.peak}
}

// PeerResult is another program's speed of generation with the same model.
type PeerResult struct {
	Name    string `json:"name"`
	Weights string `json:"weights"` // the type in which it stores them
	Version string `json:"version"`
	Threads int    `json:"threads,omitempty"`
	GenerationTiming
	PrefillSpeedup float64 `json:"prefill_speedup"` // its time divided by Residua's
	DecodeSpeedup  float64 `json:"decode_speedup"`
}

// GenerationResult is a model's speed of generation with weights of one type.
type GenerationResult struct {
	Name       string `json:"name"`
	Parameters int    `json:"parameters"`
	Text
	Weights graph.Precision  `json:"weights,omitempty"` // the type in which they are stored; "": float32, or a GPU's precision
	Residua GenerationTiming `json:"ours"`
	Peers   []PeerResult     `json:"peers,omitempty"`
}

// newGenerationResults returns a result for each of our jobs, with the peers' jobs that follow
// it. It leaves out jobs that failed and, if one of ours failed, the peers' jobs that follow it.
func newGenerationResults(w Workload, jobs []job, workers []*worker) []GenerationResult {
	var all []GenerationResult
	measured := false // our latest job
	for i, j := range jobs {
		of := workers[i]
		if j.peer == nil {
			measured = of.ok()
		}
		switch {
		case !measured: // nothing to compare with
		case j.peer == nil:
			all = append(all, GenerationResult{Name: w.Name, Parameters: of.facts.Parameters, Text: w.Text, Weights: graph.Precision(j.weights),
				Residua: newGenerationTiming(w, of, stats.Median)})
		case of.ok():
			all[len(all)-1].add(w, j, of)
		}
	}
	return all
}

// add adds a comparison with another program.
func (r *GenerationResult) add(w Workload, j job, of *worker) {
	t := newGenerationTiming(w, of, of.fastestTurn)
	r.Peers = append(r.Peers, PeerResult{Name: j.Implementation, Weights: cmp.Or(j.weights, "float32"), Version: of.facts.Version, Threads: of.facts.Threads,
		GenerationTiming: t,
		PrefillSpeedup:   t.PrefillSeconds / r.Residua.PrefillSeconds, DecodeSpeedup: t.TokenSeconds / r.Residua.TokenSeconds})
}

// shares computes the fractions of the machine's peak.
func (r *GenerationResult) shares(m *Machine) {
	r.Residua.PrefillShare = m.share(r.Residua.PrefillGFLOPS)
	for i := range r.Peers {
		r.Peers[i].PrefillShare = m.share(r.Peers[i].PrefillGFLOPS)
	}
}

// generationNote explains the table.
const generationNote = `prefill: a prompt is read, up to the first token after it; decoding: greedy, after a prompt of %d tokens, texts at a time;
speedup: of the Residua above it, over another program, of which the fastest turn counts;
%% of peak GEMM: of the machine's peak above, in the precision named there; with bf16 weights products may be faster than in float32`

func (r *Report) generationTable() figure.Table {
	t := figure.Table{Title: "Generation", Align: "lllrrrrrrrrrr", Note: fmt.Sprintf(generationNote, decodeAfter),
		Header: []string{"model", "implementation", "weights", "prompt", "ms", "tokens/s", r.Machine.peakName(), "speedup", "texts", "decoded", "ms/token",
			"tokens/s", "speedup"}}
	row := func(model, implementation, weights string, text Text, of GenerationTiming, prefill, decode string) {
		t.Row(model, implementationName(implementation), weights, text.Prompt, fmt.Sprintf("%.1f", 1e3*of.PrefillSeconds),
			whole(of.PrefillTokensPS), percent(of.PrefillShare), prefill, max(1, text.Batch), text.Tokens, fmt.Sprintf("%.2f", 1e3*of.TokenSeconds),
			fmt.Sprintf("%.1f", of.TokensPS), decode)
	}
	versions := []string{}
	for _, g := range r.Generation {
		row(g.Name, generation, cmp.Or(string(g.Weights), r.Machine.precision()), g.Text, g.Residua, "", "")
		for _, p := range g.Peers {
			row("", p.Name, p.Weights, g.Text, p.GenerationTiming, fmt.Sprintf("%.2fx", p.PrefillSpeedup), fmt.Sprintf("%.2fx", p.DecodeSpeedup))
			if v := p.version(); !slices.Contains(versions, v) {
				versions = append(versions, v)
			}
		}
	}
	if len(versions) > 0 {
		t.Note += "\nversions: " + strings.Join(versions, "; ")
	}
	return t
}

// version returns the program's version, with its threads if it reports them.
func (p PeerResult) version() string {
	if p.Threads == 0 {
		return p.Version
	}
	return fmt.Sprintf("%s, %d threads", p.Version, p.Threads)
}
