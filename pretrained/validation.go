package pretrained

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/runconfig"
)

// validation loads the validation split of the model's run.
func (m *Model) validation(ctx context.Context, o EvaluateOptions) (*eval.Text, error) {
	if m.Data.Source == nil {
		return nil, errors.Wrap(ErrNoCorpus, m.Source.ModelPath)
	}
	tokens, err := o.Tokens, error(nil)
	if tokens == 0 {
		tokens, err = m.runTokens()
	}
	if err != nil {
		return nil, err
	}
	corpus, err := m.Data.LoadCorpus(ctx, o.Threads)
	if err != nil {
		return nil, errors.Wrap(err, "validation split of the model's run")
	}
	if m.State != nil {
		same, err := corpus.Matching(ctx, m.State.CorpusFingerprint)
		if err != nil {
			return nil, err
		}
		if same != nil {
			corpus = same
		}
	}
	if corpus, err = corpus.Pack(m.Spec.Seq, m.Data.Cut); err != nil {
		return nil, err
	}
	if err := corpus.CheckValidation(m.Spec.Seq); err != nil {
		return nil, err
	}
	text := &eval.Text{Tokenizer: corpus.Tokenizer, Tokens: corpus.Val.Tokens.Scored(tokens), Windows: true}
	if m.State != nil && m.State.CorpusFingerprint != corpus.Fingerprint {
		text.Warnings = append(text.Warnings, fmt.Sprintf("the corpus has changed since the model was trained (fingerprint %.12s then, %.12s now): "+
			"the score is not that of the run, and the model may have seen some of the text", m.State.CorpusFingerprint, corpus.Fingerprint))
	}
	return text, nil
}

// runTokens returns the number of tokens that the model's run evaluates, 0 for all; the
// default if the model is not in its run folder.
func (m *Model) runTokens() (int, error) {
	if m.Source.RunDir == "" {
		return runconfig.Defaults().Train.EvalTokens, nil
	}
	file := filepath.Join(m.Source.RunDir, "config.yaml")
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		return runconfig.Defaults().Train.EvalTokens, nil
	}
	run, _, err := runconfig.Load(m.Zoo, file, nil)
	if err != nil {
		return 0, err
	}
	return run.Train.EvalTokens, nil
}

// HeldOut returns the documents of the validation split of the model's run, on which it was not
// trained.
func (m *Model) HeldOut(ctx context.Context) ([]string, error) {
	text, err := m.validation(ctx, EvaluateOptions{})
	if err != nil {
		return nil, err
	}
	var documents []string
	ids, bos := text.Tokens.IDs(), text.Tokenizer.BOS()
	for len(ids) > 0 {
		end := slices.Index(ids, bos)
		if end < 0 {
			end = len(ids)
		}
		documents = append(documents, data.DecodeText(text.Tokenizer, ids[:end]))
		ids = ids[min(end+1, len(ids)):]
	}
	return documents, nil
}
