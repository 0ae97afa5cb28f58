package report

import (
	"cmp"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/analysis/check"
)

// patchOver averages effects over pairs of prompts.
func patchOver(m *Model, o PatchOptions) (*Report, error) {
	if o.Prompt.Given() {
		return nil, bothGiven()
	}
	if o.Corrupt != "" || o.CorruptIDs != nil {
		return nil, check.Value("corrupt", "none with a list of prompts, which has its own", "one")
	}
	averages, err := average(o.Pairs, func(_ int, p PatchPair) ([]value, error) { return o.onPair(m, p) })
	if err != nil {
		return nil, err
	}
	r := on(m, analysis.AnalysisPatch, o.title(), nil)
	r.addAverages("average", "Heads and stream", "What is named is put back to what the clean prompt of each pair gave: heads at all tokens, the stream at one.",
		"share that comes back", averages, o.Top)
	return r, nil
}

// onPair are the effects on one pair.
func (o PatchOptions) onPair(m *Model, p PatchPair) ([]value, error) {
	o.Prompt.Text, o.Corrupt = p.Prompt, p.Corrupt
	o.Target.Target, o.Against = cmp.Or(p.Target, o.Target.Target), cmp.Or(p.Against, o.Against)
	clean, corrupt, err := o.prompts(m)
	if err != nil {
		return nil, err
	}
	a, err := o.aim(m, clean, corrupt)
	if err != nil {
		return nil, err
	}
	stream, heads, err := o.effects(m, clean, corrupt, a)
	if err != nil {
		return nil, err
	}
	first := 0
	for clean[first] == corrupt[first] {
		first++
	}
	values := headValues(&heads.Sweep)
	for i, row := range stream.Effect {
		values = append(values, value{stream.Rows[i] + ", first token that differs", row[first]}, value{stream.Rows[i] + ", token measured", row[a.token]})
	}
	return values, nil
}
