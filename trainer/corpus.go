package trainer

import (
	"context"
	"fmt"

	"github.com/residua-go/residua/data"
)

// loadCorpus loads the run's corpus, if the caller has not given one, and reports what the loading
// did that the config does not say.
func (t *Trainer) loadCorpus(ctx context.Context) (err error) {
	c, corpus := t.run, t.options.Corpus
	if corpus == nil {
		corpus, err = c.Data.LoadCorpus(ctx, c.Device.Threads)
	}
	if err != nil {
		return err
	}
	if corpus, err = corpus.Pack(c.Model.Seq, c.Data.Cut); err != nil {
		return err
	}
	err = corpus.Check(c.Train.Batch, c.Model.Seq)
	if err == nil {
		err = t.checkValidation(corpus)
	}
	if err != nil && c.Train.EvalEvery == 0 {
		corpus = corpus.Whole()
		err = corpus.Check(c.Train.Batch, c.Model.Seq)
	}
	if err != nil {
		return err
	}
	for _, note := range corpus.Notes {
		t.report.Note(note)
	}
	if c.Data.MaskDocuments && corpus.Divided > 0 {
		t.report.Note(fmt.Sprintf("data.mask_documents: %d of the conversations have turns that end with the token by which a conversation begins, "+
			"so that a later turn does not see them: set it to false, or take a tokenizer with an end token of its own", corpus.Divided))
	}
	return t.learnFrom(corpus)
}

func (t *Trainer) learnFrom(corpus *data.Corpus) (err error) {
	t.corpus = corpus
	t.batches, err = data.NewBatcher(corpus.Train.Tokens, t.run.Train.Batch, t.run.Model.Seq, t.run.Seed)
	return err
}

// matchCorpus returns an error if the corpus differs from the checkpoint's. It first tries to
// read the same files as earlier versions of the program did.
func (t *Trainer) matchCorpus(ctx context.Context, fingerprint string) error {
	corpus, err := t.corpus.Matching(ctx, fingerprint)
	switch {
	case err != nil:
		return err
	case corpus == nil:
		return cannotResume("data", "the corpus has changed since the checkpoint: want fingerprint %.12s, got %.12s: restore the data, or start a new run "+
			"with train.init_from", fingerprint, t.corpus.Fingerprint)
	case corpus == t.corpus:
		return nil
	}
	t.report.Note("the corpus is read as it was when the run began: without files that have no extension, and without holding out the end of one document")
	if t.checkValidation(corpus) != nil {
		t.scores = false
	}
	return t.learnFrom(corpus)
}
