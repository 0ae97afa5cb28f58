package analyze

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/pkg/errors"
	"gonum.org/v1/gonum/floats"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

func patch(zoo models.Zoo) cli.Command {
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisPatch,
		Summary: "which activations carry the difference of two prompts (activation patching)",
		Example: []string{
			"go run ./cmd/analyze patch -checkpoint runs/quickstart -out /tmp/patch",
			`go run ./cmd/analyze patch -checkpoint runs/quickstart -prompt "var x int = " -corrupt "var x str = "`,
		},
		Notes: []string{
			"An activation of the run on -prompt is put into the run on -corrupt, one place after the",
			"other: 1 is all of the metric's difference back, 0 nothing. The metric is the logit of",
			"-target, by default the likeliest answer to -prompt, less that of -against, by default the",
			"likeliest to -corrupt.",
		},
	}, &patchCall{})
}

type patchCall struct {
	prompt
	target
	corrupt, corruptIDs text
	top                 int
}

func (c *patchCall) flags(flags *flag.FlagSet) {
	c.prompt.flags(flags)
	flags.Var(&c.corrupt, "corrupt", "patch into the run on `TEXT`, of as many tokens as -prompt")
	flags.Var(&c.corruptIDs, "corrupt-ids", "patch into the run on token ids `1,2,3`, as many as -ids")
	c.target.flags(flags)
	c.againstFlag(flags)
	flags.IntVar(&c.top, "top", 20, "list the `N` largest effects")
}

func (c *patchCall) report(s *subject) (*report, error) {
	if err := checkTop(c.top); err != nil {
		return nil, err
	}
	clean, corrupt, err := c.prompts(s)
	if err != nil {
		return nil, err
	}
	a, err := c.aim(s, clean, corrupt)
	if err != nil {
		return nil, err
	}
	stream, err := analysis.PatchStream(s.Store, s.Spec, clean, corrupt, a.metric())
	if err != nil {
		return nil, err
	}
	heads, err := analysis.PatchHeads(s.Store, s.Spec, clean, corrupt, a.metric())
	if err != nil {
		return nil, err
	}
	r := reportOn(s, "Activation patching", clean)
	r.Corrupt = s.tokens(corrupt)
	share := fmt.Sprintf(" 1: the %s is the clean run's %s again; 0: it stays the corrupt run's %s.", a.title(), number(stream.Clean), number(stream.Baseline))
	r.about += fmt.Sprintf("; %s: %s, corrupt %s", a.title(), number(stream.Clean), number(stream.Baseline))
	r.addSweep(s, "stream", "The stream, token by token", "The stream behind a sublayer, at one token, is put back to what the clean prompt gave."+share,
		sweep{&stream.Sweep, stream, clean, c.top}).rename(a.metric().Name, a.title())
	r.addSweep(s, "heads", "Heads", "A head's output, at all tokens, is put back to what the clean prompt gave."+share,
		sweep{&heads.Sweep, heads, nil, c.top}).rename(a.metric().Name, a.title())
	return r, nil
}

// prompts reads the clean and the corrupt one.
func (c *patchCall) prompts(s *subject) (clean, corrupt []int32, err error) {
	if clean, err = c.read(s, 2); err != nil {
		return nil, nil, err
	}
	other := prompt{text: c.corrupt, ids: c.corruptIDs, bos: c.bos}
	switch {
	case c.corrupt.given && c.corruptIDs.given:
		return nil, nil, errors.New("want -corrupt or -corrupt-ids, got both")
	case c.corruptIDs.given:
		corrupt, err = s.readIDs("-corrupt-ids", c.corruptIDs.value, 2)
	case c.corrupt.given && s.tokenizer == nil:
		err = errors.New("-corrupt: the model has no tokenizer: want token ids, -corrupt-ids 1,2,3")
	case c.corrupt.given:
		corrupt, err = s.readText("-corrupt", c.corrupt.value, c.bos, 2)
	case !c.text.given && !c.ids.given: // the default prompt's other
		corrupt, err = other.another(s, clean)
	default:
		err = errors.New("-corrupt: want another prompt of as many tokens, got nothing")
	}
	switch {
	case err != nil:
	case len(corrupt) != len(clean): // which its positions suffice for
		err = errors.Errorf("-corrupt: want as many tokens as the prompt has, %d, got %d", len(clean), len(corrupt))
	case slices.Equal(clean, corrupt):
		err = errors.New("-corrupt: want another prompt, got the same")
	}
	return clean, corrupt, err
}

// another is the default prompt's other: "=" for the last "+", which changes what is said next
// by much. Where that "+" did not fit, it is another name earlier.
func (p prompt) another(s *subject, clean []int32) (ids []int32, err error) {
	for _, change := range [][2]string{{"a + ", "a = "}, {"b int", "c int"}} {
		p.text.value = strings.Replace(defaultPrompt, change[0], change[1], 1)
		if ids, err = p.read(s, 2); err != nil || !slices.Equal(ids, clean) {
			break
		}
	}
	return ids, err
}

// aim finds what to measure.
func (c *patchCall) aim(s *subject, clean, corrupt []int32) (aim, error) {
	run, err := s.run(clean, nil)
	if err != nil {
		return aim{}, err
	}
	a, err := c.find(s, run)
	if err != nil || c.against.given {
		return a, err
	}
	if run, err = s.run(corrupt, nil); err != nil {
		return a, err
	}
	logits, err := run.TokenLogits(a.token)
	if err != nil {
		return a, err
	}
	if likeliest := floats.MaxIdx(logits); likeliest != a.target {
		a.against = likeliest
	}
	a.what = s.describe(a, clean)
	return a, nil
}
