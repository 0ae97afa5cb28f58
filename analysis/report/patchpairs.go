package report

import (
	"cmp"
	"context"

	"github.com/residua-go/residua/analysis/check"
)

// over averages effects over pairs of prompts.
func (o Patch) over(ctx context.Context, m *Model) (*Report, error) {
	if o.Prompt.Given() {
		return nil, bothGiven()
	}
	if o.Corrupt != "" || o.CorruptIDs != nil {
		return nil, check.Value("corrupt", "none with a list of prompts, which has its own", "one")
	}
	averages, err := average(ctx, o.Pairs, func(_ int, p PatchPair) ([]value, error) { return o.onPair(m, p) })
	if err != nil {
		return nil, err
	}
	r := m.NewReport(o.title(), nil)
	r.addAverages("average", "Heads and stream", "What is named is put back to what the clean prompt of each pair gave: heads at all tokens, the stream at one.",
		"share that comes back", averages, o.Top)
	return r, nil
}

// onPair returns the effects on one pair.
func (o Patch) onPair(m *Model, pair PatchPair) ([]value, error) {
	o.Prompt.Text, o.Corrupt = pair.Prompt, pair.Corrupt
	o.Target.Target, o.Against = cmp.Or(pair.Target, o.Target.Target), cmp.Or(pair.Against, o.Against)
	p, err := o.run(m)
	if err != nil {
		return nil, err
	}
	first := 0
	for p.clean[first] == p.corrupt[first] {
		first++
	}
	values := headValues(&p.heads.Sweep)
	for i, row := range p.stream.Effect {
		name := p.stream.Rows[i]
		values = append(values, value{name + ", first token that differs", row[first]}, value{name + ", token measured", row[p.aim.token]})
	}
	return values, nil
}
