package eval

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/trainer"
)

// splitNone gives a whole corpus as one stream.
const splitNone = "none"

// Text is what is scored.
type Text struct {
	Tokenizer data.Tokenizer
	// Tokens is a stream of documents, each BOS and its text; all but the first are
	// scored.
	Tokens []uint16
	// Windows scores only whole windows of the model's training length, as a run does of
	// its validation split; otherwise a shorter last one is scored, too.
	Windows  bool
	Warnings []string // what may make the score mean something else than it seems to
	Notes    []string // how files were read, where that may not be what was meant
}

// Load returns the text that o names for a model: o.Data, or without it the validation
// split of the model's run and of that as many tokens as the run evaluates on. Whatever
// it complains about is in the call or in what it names.
func Load(ctx context.Context, p *trainer.Pretrained, o Options) (*Text, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	text, err := load(ctx, p, o)
	if err != nil {
		return nil, err
	}
	if n := text.Tokenizer.Vocab(); n > p.Model.Vocab {
		return nil, errors.Errorf("%s: tokenizer %s has %d ids, the model's vocabulary %d: want the tokenizer that the model was trained with", p.Source.ModelPath, text.Tokenizer.Name(), n, p.Model.Vocab)
	}
	if o.Tokens > 0 {
		text.Windows = false
		text.limit(o.Tokens)
	}
	if len(text.Tokens) < 2 {
		return nil, errors.Errorf("eval: want at least 2 tokens of text, got %d", len(text.Tokens))
	}
	return text, nil
}

func load(ctx context.Context, p *trainer.Pretrained, o Options) (*Text, error) {
	if len(o.Data) > 0 {
		return files(ctx, p, o)
	}
	return validation(ctx, p, o.Threads)
}

// files reads text files with the model's tokenizer.
func files(ctx context.Context, p *trainer.Pretrained, o Options) (*Text, error) {
	d := config.Data{Source: data.KindFiles, Path: o.Data, Tokenizer: p.Data.Tokenizer, Split: splitNone, TextField: p.Data.TextField}
	if o.TextField != "" {
		d.TextField = o.TextField
	}
	corpus, err := trainer.LoadCorpus(ctx, d, o.Threads)
	if err != nil {
		return nil, err
	}
	return &Text{Tokenizer: corpus.Tokenizer, Tokens: corpus.Train.Tokens, Notes: corpus.Notes}, nil
}

// validation loads the validation split of the model's run.
func validation(ctx context.Context, p *trainer.Pretrained, threads int) (*Text, error) {
	if p.Data.Source == "" {
		return nil, errors.Errorf("%s: the model names no corpus whose validation split could be scored: name a text", p.Source.ModelPath)
	}
	limit, err := runTokens(p)
	if err != nil {
		return nil, err
	}
	corpus, err := trainer.LoadCorpus(ctx, p.Data, threads)
	if err != nil {
		return nil, errors.Wrap(err, "validation split of the model's run")
	}
	if p.State != nil {
		same, err := corpus.Matching(ctx, p.State.CorpusFingerprint)
		if err != nil {
			return nil, err
		}
		if same != nil {
			corpus = same
		}
	}
	if err := corpus.CheckValidation(p.Model.Seq); err != nil {
		return nil, err
	}
	text := &Text{Tokenizer: corpus.Tokenizer, Tokens: corpus.Val.Tokens, Windows: true}
	if limit > 0 {
		text.limit(limit)
	}
	if p.State != nil && p.State.CorpusFingerprint != corpus.Fingerprint {
		text.Warnings = append(text.Warnings, fmt.Sprintf("the corpus has changed since the model was trained (fingerprint %.12s then, %.12s now): the score is not that of the run, and the model may have seen some of the text",
			p.State.CorpusFingerprint, corpus.Fingerprint))
	}
	return text, nil
}

// limit keeps the first n scored tokens.
func (t *Text) limit(n int) {
	if n < len(t.Tokens)-1 {
		t.Tokens = t.Tokens[:n+1]
	}
}

// runTokens is how many tokens the model's run evaluates on, 0: all. A model without its
// run folder gives the default.
func runTokens(p *trainer.Pretrained) (int, error) {
	if p.Source.RunDir == "" {
		return config.Defaults().Train.EvalTokens, nil
	}
	file := filepath.Join(p.Source.RunDir, "config.yaml")
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		return config.Defaults().Train.EvalTokens, nil
	}
	run, _, err := config.Load(p.Zoo, file, nil)
	if err != nil {
		return 0, err
	}
	return run.Train.EvalTokens, nil
}
