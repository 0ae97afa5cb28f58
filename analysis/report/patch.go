package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
)

// Patch measures which activations carry the difference between two prompts. Its fields say from
// which run activations are put into which other.
type Patch struct {
	Prompt              // the clean prompt
	Corrupt    string   `yaml:"corrupt" help:"patch into the run on <TEXT>, of as many tokens as -prompt; without both, on another form of the default prompt"`
	CorruptIDs data.IDs `yaml:"corrupt_ids" help:"patch into the run on token ids <1,2,3>, as many as -ids"`
	// Method is PatchActivation where it is "".
	Method   PatchMethod `yaml:"method" default:"activation" choices:"activation, attribution, integrated"`
	Points   int         `yaml:"points" default:"32" min:"2" max:"100000" help:"with -method integrated: take <N> gradients of each activation"` // 0: 32
	To       string      `yaml:"to" help:"patch heads on the way to activation <NAME> alone, such as blocks.2.attention.q or logits (path patching)"`
	At       cache.At    `yaml:"at" help:"with -to: the way to the entries <AXIS=N,...> alone, such as head=3"`
	Names    []string    `yaml:"names" help:"patch the activations <G>, a name or glob such as blocks.2.attention.q, instead of the stream; may be repeated"`
	Contrast             // Target: by default the likeliest answer to Prompt; Against: that to the corrupt prompt
	Top      int         `yaml:"top" default:"20" min:"1" max:"1000000" help:"list the <N> largest effects"` // 0: 20
	// Pairs replace Prompt and Corrupt. The effects of heads, and of the stream at the measured
	// token and at the first token that differs, are averaged over the pairs.
	Pairs PatchPairs `yaml:"prompts" help:"average over pairs of prompts in <FILE>: lines of prompt, tab, corrupt; or .jsonl of prompt, corrupt, target, against"`
}

// Help returns the help text that is too long for a tag.
func (Patch) Help() map[string]string {
	return map[string]string{"method": "find effects by <M>: runs (activation), a gradient (attribution), or -points gradients between the two runs (integrated)"}
}

// Name is patch.
func (Patch) Name() string { return "patch" }

// Card describes Patch.
func (Patch) Card() Card {
	return Card{
		Summary: "which activations carry the difference of two prompts (activation patching)",
		Example: `
			analyze patch -checkpoint runs/quickstart -out /tmp/patch
			analyze patch -checkpoint runs/quickstart -prompt "var x int = " -corrupt "var x str = "
			analyze patch -checkpoint runs/quickstart -prompts pairs.jsonl -method attribution    # means over pairs, by gradients`,
		Notes: `
			An activation of the run on -prompt is put into the run on -corrupt, one place after the
			other. Where the effect is 1 the metric is the clean run's again, where it is 0 nothing has
			changed. The metric is the logit of -target, by default the likeliest answer to -prompt,
			minus that of -against, by default the likeliest to -corrupt. -method attribution takes
			effects to first order, by one gradient instead of a run for each place (attribution
			patching; Nanda 2023, Syed et al. 2023); -method integrated averages gradients over the way
			between the two runs. -to patches heads' paths to one activation (Wang et al. 2022).`,
	}
}

// PatchMethod is how effects are found.
type PatchMethod string

// The values of PatchMethod.
const (
	PatchActivation  PatchMethod = "activation"  // by a run for each place; the default, also meant by ""
	PatchAttribution PatchMethod = "attribution" // to first order, by one gradient for all places
	PatchIntegrated  PatchMethod = "integrated"  // by integrated gradients
)

// PatchPair is a clean and a corrupt prompt with the same number of tokens.
type PatchPair struct {
	Prompt  string `yaml:"prompt" json:"prompt"`
	Corrupt string `yaml:"corrupt" json:"corrupt"`
	Target  string `yaml:"target" json:"target,omitempty"`   // "": the one of Patch
	Against string `yaml:"against" json:"against,omitempty"` // "": the one of Patch
}

// Run reports which activations carry the difference of two prompts.
func (o Patch) Run(ctx context.Context, m *Model) (*Report, error) {
	if o.Pairs != nil {
		return o.over(ctx, m)
	}
	p, err := o.run(ctx, m)
	if err != nil {
		return nil, err
	}
	stream := p.stream
	r := m.NewReport(o.title(), p.clean)
	r.Corrupt = m.tokens(p.corrupt)
	share := fmt.Sprintf(" 1: the %s is the clean run's %.4g again; 0: it stays the corrupt run's %.4g.", stream.Metric, stream.Clean, stream.Baseline)
	r.About += fmt.Sprintf("; %s: %.4g, corrupt %.4g", stream.Metric, stream.Clean, stream.Baseline)
	switch o.Method {
	case PatchAttribution:
		share += " To first order: gradient at the corrupt run times the activations' difference."
	case PatchIntegrated:
		share += " By integrated gradients: their mean between the two runs times the activations' difference."
	}
	heading, what := "The stream, token by token", "The stream after a sublayer"
	if len(o.Names) > 0 {
		heading, what = "Named activations, token by token", "An activation"
	}
	r.sweep(m, "stream", heading, what+", at one token, is put back to what the clean prompt gave."+share, p.clean, o.Top)(stream, nil)
	what = "A head's output, at all tokens, is put back to what the clean prompt gave."
	if o.To != "" {
		what = "What a head gives on its way to " + o.To + " alone is put back to what the clean prompt gave."
	}
	r.sweep(m, "heads", "Heads", what+share, nil, o.Top)(p.heads, nil)
	return r, nil
}

// patched is a pair of prompts, with what is measured on it and the effects.
type patched struct {
	clean, corrupt []int32
	aim            aim
	stream, heads  *analysis.Patching
}

// run reads the prompts and patches the stream and heads.
func (o Patch) run(ctx context.Context, m *Model) (p patched, err error) {
	if p.clean, p.corrupt, err = o.prompts(m); err != nil {
		return p, err
	}
	if p.aim, err = o.aim(m, p.clean, p.corrupt); err != nil {
		return p, err
	}
	metric, points := p.aim.metric(), map[PatchMethod]int{PatchAttribution: 1, PatchIntegrated: o.Points}[o.Method]
	switch {
	case len(o.Names) > 0:
		p.stream, err = analysis.PatchNames(ctx, m.Store, m.Spec, p.clean, p.corrupt, metric, points, o.Names...)
	case points > 0:
		p.stream, err = analysis.AttributionPatchStream(ctx, m.Store, m.Spec, p.clean, p.corrupt, metric, points)
	default:
		p.stream, err = analysis.PatchStream(ctx, m.Store, m.Spec, p.clean, p.corrupt, metric)
	}
	switch {
	case err != nil:
	case o.To != "":
		p.heads, err = analysis.PathPatch(ctx, m.Store, m.Spec, p.clean, p.corrupt, metric, o.To, o.At)
	case points > 0:
		p.heads, err = analysis.AttributionPatchHeads(ctx, m.Store, m.Spec, p.clean, p.corrupt, metric, points)
	default:
		p.heads, err = analysis.PatchHeads(ctx, m.Store, m.Spec, p.clean, p.corrupt, metric)
	}
	return p, err
}

func (o Patch) title() string {
	switch o.Method {
	case PatchAttribution:
		return "Attribution patching"
	case PatchIntegrated:
		return "Patching by integrated gradients"
	}
	return "Activation patching"
}

// prompts reads the clean and the corrupt prompt.
func (o Patch) prompts(m *Model) (clean, corrupt []int32, err error) {
	if clean, err = o.Prompt.Read(m, 2); err != nil {
		return nil, nil, err
	}
	switch {
	case o.Corrupt != "" && o.CorruptIDs != nil:
		err = check.Value("corrupt", "a text or token ids", "both")
	case o.CorruptIDs != nil:
		corrupt, err = o.CorruptIDs, m.checkIDs("corrupt-ids", o.CorruptIDs, 2)
	case o.Corrupt != "":
		corrupt, err = m.encode("corrupt", o.Corrupt, o.BOS, 2)
	case !o.Prompt.given():
		corrupt, err = o.otherDefault(m, clean)
	default:
		err = check.Value("corrupt", "another prompt of as many tokens", "none")
	}
	switch {
	case err != nil:
	case len(corrupt) != len(clean): // the model has positions for it
		err = check.Valuef("corrupt", len(corrupt), "as many tokens as the prompt has, %d", len(clean))
	case slices.Equal(clean, corrupt):
		err = check.Value("corrupt", "another prompt", "the same")
	}
	return clean, corrupt, err
}

// otherDefault returns the corrupt prompt for the default prompt: it has "=" instead of the last
// "+", which changes the next token a lot. If that "+" does not fit in the model, an earlier name
// differs instead.
func (o Patch) otherDefault(m *Model, clean []int32) (ids []int32, err error) {
	for _, change := range [][2]string{{"a + ", "a = "}, {"b int", "c int"}} {
		text := strings.Replace(DefaultPrompt, change[0], change[1], 1)
		if ids, err = m.encode("corrupt", text, o.BOS, 2); err != nil {
			return nil, err
		}
		if ids = ids[:min(len(ids), len(clean))]; !slices.Equal(ids, clean) {
			break
		}
	}
	return ids, nil
}

// aim finds what to measure.
func (o Patch) aim(m *Model, clean, corrupt []int32) (aim, error) {
	run, err := m.run(clean, nil)
	if err != nil {
		return aim{}, err
	}
	a, err := o.Contrast.find(m, run)
	if err != nil || o.Against != "" {
		return a, err
	}
	if run, err = m.run(corrupt, nil); err != nil {
		return a, err
	}
	logits, _ := run.TokenLogits(a.token) // as many tokens as the clean prompt
	if likeliest := floats.MaxIdx(logits); likeliest != a.target {
		a.against = likeliest
	}
	a.what = m.describe(a, clean)
	return a, nil
}

// over averages effects over pairs of prompts.
func (o Patch) over(ctx context.Context, m *Model) (*Report, error) {
	if o.Prompt.given() {
		return nil, bothGiven()
	}
	if o.Corrupt != "" || o.CorruptIDs != nil {
		return nil, check.Value("corrupt", "none with a list of prompts, which has its own", "one")
	}
	averages, err := average(ctx, o.Pairs, func(_ int, p PatchPair) ([]value, error) { return o.onPair(ctx, m, p) })
	if err != nil {
		return nil, err
	}
	r := m.NewReport(o.title(), nil)
	r.addAverages("average", "Heads and stream", "What is named is put back to what the clean prompt of each pair gave: heads at all tokens, the stream at one.",
		"share that comes back", averages, o.Top)
	return r, nil
}

// onPair returns the effects on one pair.
func (o Patch) onPair(ctx context.Context, m *Model, pair PatchPair) ([]value, error) {
	o.Prompt.Text, o.Corrupt = pair.Prompt, pair.Corrupt
	o.Target.Target, o.Against = cmp.Or(pair.Target, o.Target.Target), cmp.Or(pair.Against, o.Against)
	p, err := o.run(ctx, m)
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
