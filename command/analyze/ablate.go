package analyze

import (
	"flag"
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/analysis/cache"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

func ablate(zoo models.Zoo) cli.Command {
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisAblate,
		Summary: "what the model loses when activations are set to 0: heads, writers, or named ones",
		Example: []string{
			"go run ./cmd/analyze ablate -checkpoint runs/quickstart -out /tmp/ablate",
			"go run ./cmd/analyze ablate -checkpoint runs/quickstart -names blocks.1.attention.heads -at head=3,token=5 -target b",
		},
		Notes: []string{
			"Without -names, every head is set to 0 in turn, and all that each writer writes, token by",
			"token. What changes is measured on the mean loss of the next token or, with -token,",
			"-target or -against, on a logit.",
		},
	}, &ablateCall{})
}

type ablateCall struct {
	prompt
	target
	names cli.List
	at    string
	top   int
}

func (c *ablateCall) flags(flags *flag.FlagSet) {
	c.prompt.flags(flags)
	c.target.flags(flags)
	c.target.againstFlag(flags)
	flags.Var(&c.names, "names", "set the activations of name or glob `G` to 0, such as blocks.*.attention.heads, all together; may be repeated")
	flags.StringVar(&c.at, "at", "", "of -names, set the entries `AXIS=N,...` alone, such as head=3,token=5")
	flags.IntVar(&c.top, "top", 20, "list the `N` largest effects")
}

func (c *ablateCall) report(s *subject) (*report, error) {
	if err := checkTop(c.top); err != nil {
		return nil, err
	}
	at, err := c.places()
	if err != nil {
		return nil, err
	}
	ids, err := c.read(s, 2)
	if err != nil {
		return nil, err
	}
	metric, what, err := c.metric(s, ids)
	if err != nil {
		return nil, err
	}
	r := reportOn(s, "Ablation", ids)
	if len(c.names) > 0 {
		return r, c.addNamed(r, s, ids, at, metric, what)
	}
	return r, c.addSweeps(r, s, ids, metric, what)
}

// places reads -at.
func (c *ablateCall) places() (cache.At, error) {
	if c.at == "" {
		return nil, nil
	}
	if len(c.names) == 0 {
		return nil, errors.New("-at: want it with -names, got it alone")
	}
	at := cache.At{}
	for _, choice := range strings.Split(c.at, ",") {
		axis, value, _ := strings.Cut(strings.TrimSpace(choice), "=")
		n, err := strconv.Atoi(value)
		if err != nil || axis == "" {
			return nil, errors.Errorf("-at: want AXIS=N,..., such as head=3,token=5, got %q", c.at)
		}
		at[axis] = n
	}
	return at, nil
}

// metric is what the flags measure, and its name in words.
func (c *ablateCall) metric(s *subject, ids []int32) (analysis.Metric, string, error) {
	loss := analysis.NextTokenLoss()
	if !c.token.given && !c.target.target.given && !c.against.given {
		return loss, loss.Name, nil
	}
	run, err := s.run(ids, nil)
	if err != nil {
		return loss, "", err
	}
	a, err := c.find(s, run)
	return a.metric(), a.title(), err
}

// addNamed ablates what -names and -at choose.
func (c *ablateCall) addNamed(r *report, s *subject, ids []int32, at cache.At, m analysis.Metric, what string) error {
	one, err := analysis.Ablate(s.Store, s.Spec, ids, c.names, at, m)
	if err != nil {
		return err
	}
	text := "All of it is set to 0 together: " + strings.Join(c.names, ", ")
	if c.at != "" {
		text += " at " + c.at
	}
	r.add("ablation", "Named activations", text+".", one).rename(m.Name, what)
	return nil
}

// addSweeps ablates each head, and what each writer writes at each token.
func (c *ablateCall) addSweeps(r *report, s *subject, ids []int32, m analysis.Metric, what string) error {
	each, err := analysis.AblateHeads(s.Store, s.Spec, ids, m)
	if err != nil {
		return err
	}
	r.addSweep(s, "heads", "Heads", "Each head's output is set to 0 at all tokens: how the metric changes.",
		sweep{&each.Sweep, each, nil, c.top}).rename(m.Name, what)
	writers, err := analysis.AblateWriters(s.Store, s.Spec, ids, m)
	if err != nil {
		return err
	}
	r.addSweep(s, "writers", "Writers", "What a writer writes is set to 0, at one token or at all.",
		sweep{&writers.Sweep, writers, ids, c.top}).rename(m.Name, what)
	return nil
}
