package bench

import (
	"fmt"

	"github.com/residua-go/residua/figure"
)

// GenerationTiming is how fast one implementation reads a prompt and decodes; the times are medians.
type GenerationTiming struct {
	PrefillSeconds  float64 `json:"prefill_seconds"` // up to the first token after the prompt
	PrefillTokensPS float64 `json:"prefill_tokens_per_s"`
	PrefillGFLOPS   float64 `json:"prefill_gflops"`
	PrefillShare    float64 `json:"prefill_peak_share"`
	TokenSeconds    float64 `json:"token_seconds"` // of one that is decoded
	TokensPS        float64 `json:"tokens_per_s"`  // of all texts that are decoded at a time
	PeakBytes       int     `json:"peak_bytes"`
}

func newGenerationTiming(w Workload, of *worker) GenerationTiming {
	prefill, token := median(of.seconds), median(of.tokenSeconds)
	return GenerationTiming{PrefillSeconds: prefill, PrefillTokensPS: float64(w.Text.Prompt) / prefill, PrefillGFLOPS: w.prefillFLOPs() / prefill / 1e9,
		TokenSeconds: token, TokensPS: float64(max(1, w.Text.Batch)) / token, PeakBytes: of.peak}
}

// GenerationResult is a model's speed of generation.
type GenerationResult struct {
	Name       string `json:"name"`
	Parameters int    `json:"parameters"`
	Text
	Residua        GenerationTiming  `json:"ours"`
	Transformers   *GenerationTiming `json:"transformers,omitempty"`
	Version        string            `json:"version,omitempty"`
	PrefillSpeedup float64           `json:"prefill_speedup,omitempty"` // transformers' time over Residua's
	DecodeSpeedup  float64           `json:"decode_speedup,omitempty"`
}

// newGenerationResult compares Residua with transformers, if that is given.
func newGenerationResult(w Workload, own *worker, others ...*worker) GenerationResult {
	r := GenerationResult{Name: w.Name, Parameters: own.facts.Parameters, Text: w.Text, Residua: newGenerationTiming(w, own)}
	for _, theirs := range others {
		t := newGenerationTiming(w, theirs)
		r.Transformers, r.Version = &t, theirs.facts.Version
		r.PrefillSpeedup, r.DecodeSpeedup = t.PrefillSeconds/r.Residua.PrefillSeconds, t.TokenSeconds/r.Residua.TokenSeconds
	}
	return r
}

// shares sets the parts of the machine's peak.
func (r *GenerationResult) shares(m *Machine) {
	r.Residua.PrefillShare = m.share(r.Residua.PrefillGFLOPS)
	if t := r.Transformers; t != nil {
		t.PrefillShare = m.share(t.PrefillGFLOPS)
	}
}

// generationNote explains the table.
const generationNote = `prefill: a prompt is read, up to the first token after it; decoding: greedy, after a prompt of %d tokens, texts at a time,
speedup: Residua's over transformers'`

func (r *Report) generationTable() figure.Table {
	t := figure.Table{Title: "Generation", Align: "llrrrrrrrrrr", Note: fmt.Sprintf(generationNote, decodeAfter),
		Header: []string{"model", "implementation", "prompt", "ms", "tokens/s", r.Machine.peakName(), "speedup", "texts", "decoded", "ms/token", "tokens/s", "speedup"}}
	row := func(model, implementation string, text Text, of GenerationTiming, prefill, decode string) {
		t.Row(model, implementationName(implementation), text.Prompt, fmt.Sprintf("%.1f", 1e3*of.PrefillSeconds),
			whole(of.PrefillTokensPS), percent(of.PrefillShare), prefill, max(1, text.Batch), text.Tokens, fmt.Sprintf("%.2f", 1e3*of.TokenSeconds), fmt.Sprintf("%.1f", of.TokensPS), decode)
	}
	for _, g := range r.Generation {
		prefill, decode := "", ""
		if g.Transformers != nil {
			t.Title = "Generation, compared with " + g.Version
			prefill, decode = fmt.Sprintf("%.2fx", g.PrefillSpeedup), fmt.Sprintf("%.2fx", g.DecodeSpeedup)
		}
		row(g.Name, generation, g.Text, g.Residua, prefill, decode)
		if g.Transformers != nil {
			row("", transformers, g.Text, *g.Transformers, "", "")
		}
	}
	return t
}
