package pretrained

import (
	"context"
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/runconfig"
)

// EvaluateOptions say what to score, and how. The zero value scores the validation split
// of the model's run exactly as the run does.
type EvaluateOptions struct {
	// Data names text to score instead: files, folders or globs, as in data.Options.Paths; or
	// token shards: folders that a data.Preparation has filled, or files and globs that end in
	// .tokens.
	Data []string `yaml:"data" group:"What text is scored" help:"score the text of <FILES>: a file, a folder, a glob, or token shards; may be repeated"`
	// TextField is the field of .jsonl lines of Data that holds the text; "": the run's.
	TextField string `yaml:"text_field" group:"What text is scored" help:"with -data: field <NAME> of .jsonl lines has the text; without, as in the model's run"`
	// IDs are token ids to score instead of a text, also for a model without a tokenizer; all but
	// the first are scored.
	IDs    []int32
	Tokens int `yaml:"tokens" group:"What text is scored" help:"score at most <N> tokens; 0: all of -data, or as many as the run evaluates on"`
	eval.Options
}

// Validate returns an error for the first setting with which nothing can be scored; it is
// a *layers.SettingError.
func (o EvaluateOptions) Validate() error {
	switch {
	case o.Tokens < 0:
		return layers.Setting("tokens", "want >= 0, got %d", o.Tokens)
	case len(o.IDs) > 0 && len(o.Data) > 0:
		return layers.Setting("ids", "want ids or data, got both")
	case o.TextField != "" && len(o.Data) == 0:
		return layers.Setting("text-field", "want data with it: without, the validation split of the model's run is scored")
	}
	return nil
}

// Evaluate loads the text that o names and scores it.
func (m *Model) Evaluate(ctx context.Context, o EvaluateOptions) (eval.Score, error) {
	text, err := m.LoadText(ctx, o)
	if err != nil {
		return eval.Score{}, err
	}
	return eval.Evaluate(ctx, m.Store, m.Spec, text, o.Options)
}

// LoadText returns the text that o names: o.Data or, without it, the validation split of the
// model's run, of which it takes as many tokens as the run evaluates unless o.Tokens says another
// number. All its errors are about the call or about what it names.
func (m *Model) LoadText(ctx context.Context, o EvaluateOptions) (*eval.Text, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	load := m.validation
	switch {
	case len(o.Data) > 0:
		load = m.files
	case len(o.IDs) > 0:
		load = m.ids
	}
	text, err := load(ctx, o)
	if err != nil {
		return nil, err
	}
	if text.Tokenizer != nil {
		if err := data.CheckVocabulary(text.Tokenizer, m.Spec.Vocab); err != nil {
			return nil, errors.Wrap(err, m.Source.ModelPath)
		}
	}
	if o.Tokens > 0 {
		text.Windows = false
		text.Tokens = text.Tokens.Scored(o.Tokens)
	}
	if text.Tokens.Len() < 2 {
		return nil, errors.Errorf("evaluate: want at least 2 tokens of text, got %d", text.Tokens.Len())
	}
	return text, nil
}

// files reads text files, or token shards if all paths name such, with the model's tokenizer.
func (m *Model) files(ctx context.Context, o EvaluateOptions) (*eval.Text, error) {
	const whole = "none" // no part of the corpus is held out
	var kind data.Source = data.Files{}
	if !slices.ContainsFunc(o.Data, func(path string) bool { return !data.HasShards(path) }) {
		kind = data.Shards{}
	}
	if own, ok := m.Data.Source.(data.Conversations); ok {
		kind = own
	}
	d := runconfig.Data{Source: kind, Path: o.Data, Tokenizer: m.Data.Tokenizer, Split: whole, TextField: m.Data.TextField}
	if o.TextField != "" {
		d.TextField = o.TextField
	}
	corpus, err := d.LoadCorpus(ctx, o.Threads)
	if err != nil {
		return nil, err
	}
	if corpus, err = corpus.Pack(m.Spec.Seq, m.Data.Cut); err != nil {
		return nil, err
	}
	return &eval.Text{Tokenizer: corpus.Tokenizer, Tokens: corpus.Train.Tokens, Notes: corpus.Notes}, nil
}

// ids makes a text from token ids.
func (m *Model) ids(_ context.Context, o EvaluateOptions) (*eval.Text, error) {
	text := &eval.Text{Tokens: data.NewTokens(m.Spec.Vocab, o.IDs)}
	if err := data.CheckIDs(o.IDs, m.Spec.Vocab); err != nil {
		return nil, layers.Setting("ids", "%v", err)
	}
	if m.Data.Tokenizer != "" {
		var err error
		if text.Tokenizer, err = m.Tokenizer(); err != nil {
			return nil, errors.Wrap(err, m.Source.ModelPath)
		}
	}
	return text, nil
}
