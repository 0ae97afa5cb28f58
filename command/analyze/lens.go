package analyze

import (
	"flag"
	"fmt"
	"strings"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

func lens(zoo models.Zoo) cli.Command {
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisLens,
		Summary: "the logit lens: what the model would say if nothing more were written",
		Example: []string{
			"go run ./cmd/analyze lens -checkpoint runs/quickstart",
			`go run ./cmd/analyze lens -checkpoint runs/quickstart -prompt "if err != " -target n -out /tmp/lens`,
		},
		Notes: []string{
			"The stream behind each writer is read out by the final norm and the unembedding; for the",
			"matrix stream also by each key direction of the readout alone.",
		},
	}, &lensCall{})
}

type lensCall struct {
	prompt
	target
}

func (c *lensCall) flags(flags *flag.FlagSet) {
	c.prompt.flags(flags)
	c.target.flags(flags)
}

func (c *lensCall) report(s *subject) (*report, error) {
	ids, err := c.read(s, 2)
	if err != nil {
		return nil, err
	}
	d, a, err := c.decompose(s, ids)
	if err != nil {
		return nil, err
	}
	one, err := d.Lens(a.token, a.target)
	if err != nil {
		return nil, err
	}
	every, err := d.LensMap()
	if err != nil {
		return nil, err
	}
	r := reportOn(s, "Logit lens", ids)
	p := r.add("lens", "At one token", "What the model would say of one token if the stream were read out early: behind each writer, in the order of the run.", one)
	p.rename(p.table.Title, "logit lens on "+a.what)
	p.rename(fmt.Sprintf("Logit of id %d ", a.target), "Logit of "+s.word(a.target)+" ")
	p.table = lensTable(s, one, p.table.Title)
	p = r.add("map", "At every token", "The probability of each token's true successor, read out behind each writer.", every)
	p.labelTokens(s, ids)
	return r, nil
}

// lensTable lists a lens' points with the likeliest tokens in words.
func lensTable(s *subject, l *analysis.Lens, title string) figure.Table {
	t := figure.Table{Title: title, Header: []string{"behind", "logit", "probability", "rank", "likeliest"}, Align: "lrrrl"}
	for _, p := range l.Points {
		var likeliest []string
		for _, top := range p.Top {
			likeliest = append(likeliest, fmt.Sprintf("%s %.2f", s.text(top.ID), top.Probability))
		}
		t.Rows = append(t.Rows, []string{p.After, number(p.Logit), number(p.Probability), fmt.Sprint(p.Rank), strings.Join(likeliest, " · ")})
	}
	return t
}
