package tour

import (
	"context"
	"path/filepath"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/analysis/page"
	analyses "github.com/residua-go/residua/analysis/report"
	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/pretrained"
)

// promptTokens is how many tokens of validation text the analyses read.
const promptTokens = 40

// takeApart writes a page of analyses of a run's stream into a folder: who wrote the prediction,
// what the model would say early, and who reads whom.
func (c *call) takeApart(ctx context.Context, run, folder string, corpus *data.Corpus) error {
	m, err := pretrained.Open(run, c.zoo)
	if err != nil {
		return err
	}
	defer m.Close()
	of, err := analyses.Of(m)
	if err != nil {
		return err
	}
	prompt := analyses.Prompt{IDs: corpus.Val.Tokens.Slice(0, min(promptTokens, corpus.Val.Tokens.Len())).IDs()}
	whole := page.Page{Title: "The stream, taken apart", Subtitle: run}
	for _, a := range []analyses.Analysis{analyses.Attribute{Prompt: prompt}, analyses.Lens{Prompt: prompt}, analyses.Wiring{}} {
		r, err := analyses.Run(ctx, of, a)
		if err != nil {
			return errors.Wrapf(err, "analyze %s", a.Name())
		}
		whole.Sections = append(whole.Sections, r.Sections()...)
	}
	html, err := whole.HTML()
	if err != nil {
		return err
	}
	if err := (checkpoint.Disk{}).MakeFolder(folder); err != nil {
		return err
	}
	return checkpoint.Disk{}.WriteFile(filepath.Join(folder, analyses.PageFile), html)
}
