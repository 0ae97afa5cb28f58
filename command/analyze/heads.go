package analyze

import (
	"cmp"
	"flag"
	"fmt"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

func heads(zoo models.Zoo) cli.Command {
	return command(zoo, cli.Command{
		Name:    "heads",
		Summary: "induction and previous-token heads, and what heads attend to in a prompt",
		Example: []string{
			"go run ./cmd/analyze heads -checkpoint runs/quickstart",
			`go run ./cmd/analyze heads -checkpoint runs/quickstart -prompt "for i := 0; i < n; i++ {" -layer 1 -out /tmp/heads`,
		},
		Notes: []string{
			"With -layer and -head, that head is taken as one linear map of the sequence, A (x) W_OV.",
			"Scores are measured on random tokens that repeat once (Olsson et al. 2022). Without a",
			"prompt that the model can read, attention is shown on the first of those rows.",
		},
	}, &headsCall{})
}

type headsCall struct {
	prompt
	place
	period, rows int
	seed         uint64
}

func (c *headsCall) flags(flags *flag.FlagSet) {
	c.prompt.flags(flags)
	c.place.flags(flags)
	flags.IntVar(&c.period, "period", 0, "repeat `N` random tokens; 0: 32, or as many as the model has positions for")
	flags.IntVar(&c.rows, "rows", 4, "average over `N` rows")
	flags.Uint64Var(&c.seed, "seed", 1, "seed the random tokens with `N`")
}

func (c *headsCall) report(s *subject) (*report, error) {
	if err := c.check(s.Spec); err != nil {
		return nil, err
	}
	if c.period == 0 {
		c.period = min(32, s.Spec.Seq/2)
	}
	if err := cmp.Or(atMost("-rows", c.rows), atMost("-period", c.period), atMost("-rows times -period", c.rows*c.period)); err != nil {
		return nil, err
	}
	if err := s.checkLength("-period: twice that", 2*c.period); err != nil {
		return nil, err
	}
	scores, err := analysis.InductionScores(s.Store, s.Spec, c.period, c.rows, c.seed)
	if err != nil {
		return nil, err
	}
	ids := analysis.RepeatedTokens(s.Spec.Vocab, c.period, 1, c.seed)
	if s.tokenizer != nil || c.ids.given || c.text.given {
		if ids, err = c.read(s, 2); err != nil {
			return nil, err
		}
	}
	r := reportOn(s, "Heads", ids)
	r.add("scores", "Induction heads",
		"On random tokens that repeat, an induction head attends to what followed this token the last time; a previous-token head, below it, to the token before.", scores)
	if c.layer != all && c.head != all {
		return r, c.addTensorProduct(r, s, ids)
	}
	return r, c.addPatterns(r, s, ids)
}

// addTensorProduct adds the chosen head as one linear map of the sequence.
func (c *headsCall) addTensorProduct(r *report, s *subject, ids []int32) error {
	product, err := analysis.RunTensorProduct(s.Store, s.Spec, ids, c.layer, c.head)
	if err != nil {
		return err
	}
	p := r.add("tensor-product", fmt.Sprintf("Layer %d head %d as a tensor product", c.layer, c.head),
		"With its pattern A held, a head is the linear map A (x) W_OV: A moves between tokens, W_OV between entries of the stream. It equals what the head wrote.", product)
	p.labelTokens(s, ids)
	for i, row := range p.table.Rows {
		row[1] = s.word(int(ids[i]))
	}
	return nil
}

// addPatterns adds the attention patterns of the chosen layers.
func (c *headsCall) addPatterns(r *report, s *subject, ids []int32) error {
	run, err := s.run(ids, []string{"blocks.*.attention.pattern"})
	if err != nil {
		return err
	}
	for l := range s.Spec.Layers {
		if c.layer != all && c.layer != l {
			continue
		}
		patterns, err := analysis.Patterns(run, l)
		if err != nil {
			return err
		}
		r.add(fmt.Sprintf("attention-%d", l), fmt.Sprintf("Attention of layer %d", l),
			"How much each head attends, at each token, to the tokens up to it.", patterns).labelTokens(s, ids)
	}
	return nil
}
