package eval

import (
	"context"
	"fmt"
	"math"

	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/pretrained"
)

// textScore is a model's score on a text.
type textScore struct {
	checkpoint string
	score      eval.Score
	stderr     eval.Score
	groups     []eval.Group // with -by
}

func (c *call) runText(ctx context.Context, out commandline.Output) error {
	var all []textScore
	err := c.each(ctx, out, func(path string, m *pretrained.Model, o eval.Options) error {
		s, err := c.scoreText(ctx, out, m, o)
		if err != nil {
			return err
		}
		s.checkpoint = path
		all = append(all, s)
		if c.JSON {
			return out.PrintJSON(s.json(c.By, len(c.Paths) > 1))
		}
		return nil
	})
	if err != nil {
		return err
	}
	if c.Figure != "" {
		if err := commandline.WriteFigure(c.Figure, c.draw(all)); err != nil {
			return err
		}
	}
	if c.JSON {
		return nil
	}
	text := all[0].text()
	if len(all) > 1 {
		text = textTable(all).Text()
	}
	for _, s := range all {
		if c.By != "" {
			text += "\n" + c.groupTable(s, len(all) > 1).Text()
		}
	}
	return out.Print(text)
}

// scoreText loads the text that the flags name with a model's tokenizer, and scores it.
func (c *call) scoreText(ctx context.Context, out commandline.Output, m *pretrained.Model, o eval.Options) (textScore, error) {
	c.EvaluateOptions.Options = o
	text, err := m.LoadText(ctx, c.EvaluateOptions)
	if err != nil {
		return textScore{}, commandline.Usage(err)
	}
	for _, w := range text.Warnings {
		out.Warn(w)
	}
	for _, n := range text.Notes {
		out.Note(n)
	}
	tally := eval.NewTally(text, m.Spec.Seq)
	progress := commandline.NewProgress(out, "tokens")
	o.PerToken = func(t eval.Token) error {
		if err := tally.Add(t); err != nil {
			return err
		}
		if c.PerToken {
			return c.printToken(out, t)
		}
		progress.Show(t.Index, text.Tokens.Len()-1)
		return nil
	}
	s := textScore{}
	s.score, err = eval.Evaluate(ctx, m.Store, m.Spec, text, o)
	progress.End()
	if err != nil {
		return s, err
	}
	s.stderr = tally.StdErr(c.Resamples, c.Seed)
	if c.By != "" {
		s.groups, err = tally.Groups(c.By)
	}
	return s, err
}

func (c *call) printToken(out commandline.Output, t eval.Token) error {
	if c.JSON {
		return out.PrintJSON(t)
	}
	return out.Print(t.String() + "\n")
}

// text formats the score of a single checkpoint.
func (s textScore) text() string {
	text := fmt.Sprintf("tokens         %d\nloss           %s\nperplexity     %s\n",
		s.score.Tokens, within("%.6f", s.score.Loss, s.stderr.Loss), within("%.4f", s.score.Perplexity, s.stderr.Perplexity))
	if !math.IsNaN(s.score.BitsPerByte) {
		text += fmt.Sprintf("bits per byte  %s\n", within("%.6f", s.score.BitsPerByte, s.stderr.BitsPerByte))
	}
	if s.score.Chance > 0 {
		text += fmt.Sprintf("accuracy       %.6f\nchance         %.6f\n", s.score.Accuracy, s.score.Chance)
	}
	return text
}

// within formats a number with its standard error, if the error is known.
func within(format string, value, stderr float64) string {
	if math.IsNaN(stderr) {
		return fmt.Sprintf(format, value)
	}
	return fmt.Sprintf(format+" ± %.2g", value, stderr)
}

// textTable has a row for each checkpoint.
func textTable(all []textScore) figure.Table {
	t := figure.NewTable("", "lrrrr", "checkpoint", "tokens", "loss", "perplexity", "bits per byte")
	for _, s := range all {
		bits := "-"
		if !math.IsNaN(s.score.BitsPerByte) {
			bits = within("%.4f", s.score.BitsPerByte, s.stderr.BitsPerByte)
		}
		t.Row(s.checkpoint, fmt.Sprint(s.score.Tokens), within("%.4f", s.score.Loss, s.stderr.Loss), within("%.3f", s.score.Perplexity, s.stderr.Perplexity), bits)
	}
	return t
}

// scoreJSON is a textScore as JSON, with null for values that are not finite.
type scoreJSON struct {
	Checkpoint  string       `json:"checkpoint,omitempty"`
	Tokens      int          `json:"tokens"`
	Loss        eval.Number  `json:"loss"`
	LossError   eval.Number  `json:"loss_stderr"`
	Perplexity  eval.Number  `json:"perplexity"`
	PerpError   eval.Number  `json:"perplexity_stderr"`
	BitsPerByte eval.Number  `json:"bits_per_byte"`
	BitsError   eval.Number  `json:"bits_per_byte_stderr"`
	Accuracy    *eval.Number `json:"accuracy,omitempty"` // of a task, where it may be 0
	Chance      eval.Number  `json:"chance,omitempty"`
	By          string       `json:"by,omitempty"`
	Groups      []groupJSON  `json:"groups,omitempty"`
}

type groupJSON struct {
	Key         int         `json:"key"`
	Text        string      `json:"text,omitempty"` // quoted, since JSON cannot hold part of a character
	Tokens      int         `json:"tokens"`
	Loss        eval.Number `json:"loss"`
	LossError   eval.Number `json:"loss_stderr"`
	Perplexity  eval.Number `json:"perplexity"`
	BitsPerByte eval.Number `json:"bits_per_byte"`
	Share       eval.Number `json:"share"`
}

func (s textScore) json(by string, named bool) any {
	j := scoreJSON{Tokens: s.score.Tokens, Loss: eval.Number(s.score.Loss), LossError: eval.Number(s.stderr.Loss), Perplexity: eval.Number(s.score.Perplexity),
		PerpError: eval.Number(s.stderr.Perplexity), BitsPerByte: eval.Number(s.score.BitsPerByte), BitsError: eval.Number(s.stderr.BitsPerByte),
		Chance: eval.Number(s.score.Chance), By: by}
	if s.score.Chance > 0 {
		j.Accuracy = (*eval.Number)(&s.score.Accuracy)
	}
	if named {
		j.Checkpoint = s.checkpoint
	}
	for _, g := range s.groups {
		text := ""
		if g.Text != "" {
			text = quoted(g.Text)
		}
		j.Groups = append(j.Groups, groupJSON{g.Key, text, g.Tokens, eval.Number(g.Loss), eval.Number(g.Error), eval.Number(g.Perplexity), eval.Number(g.BitsPerByte),
			eval.Number(g.Share)})
	}
	return j
}
