package trainer

import (
	"context"
	"fmt"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/eval"
)

// validationTokens returns the part of the corpus' validation split that the run scores.
func (t *Trainer) validationTokens(corpus *data.Corpus) data.Tokens {
	return corpus.Val.Tokens.Scored(t.run.Train.EvalTokens)
}

// scoredTokens returns how many of the given tokens are scored: those that fill whole windows.
func (t *Trainer) scoredTokens(tokens int) int {
	seq := t.run.Model.Seq
	return (tokens - 1) / seq * seq
}

// checkValidation returns an error that says why the validation split cannot be scored, nil if it
// can.
func (t *Trainer) checkValidation(corpus *data.Corpus) error {
	if err := corpus.CheckValidation(t.run.Model.Seq); err != nil {
		return err
	}
	tokens := t.validationTokens(corpus)
	n := t.scoredTokens(tokens.Len())
	if data.TextBytes(corpus.Tokenizer, tokens.Slice(1, 1+n)) == 0 {
		return errors.Errorf("data: validation split: want text, got %d tokens that only separate documents: choose another data.split, or remove empty documents", n)
	}
	return nil
}

// validates tells whether the current step's weights are to be scored.
func (t *Trainer) validates() bool {
	every := t.run.Train.EvalEvery
	return t.scores && (t.ended() || every > 0 && t.step()%every == 0)
}

// unvalidated tells whether the step at which the run starts still has to be scored, because
// the run ended before it was scored, or because the run ends at this step and now scores
// another number of tokens.
func (t *Trainer) unvalidated() bool {
	last := t.ended()
	switch {
	case !t.validates() || t.step() == 0 || !t.leads():
		return false
	case t.score != nil:
		tokens := t.validationTokens(t.corpus)
		return last && t.score.Tokens != tokens.Slice(1, 1+t.scoredTokens(tokens.Len())).Targets()
	}
	return last || t.last.Step == t.step() && t.last.ValLoss == nil
}

// validate scores the step, which has been saved, and adds the score to the step's metrics and to
// the state of its checkpoint. Other ranks than 0 go on meanwhile.
func (t *Trainer) validate(ctx context.Context) error {
	if !t.leads() {
		return nil
	}
	score, err := t.eval.Evaluate(context.WithoutCancel(ctx), t.corpus.Tokenizer, t.validationTokens(t.corpus))
	if err != nil {
		return errors.Wrapf(err, "validation after step %d, which is saved", t.step())
	}
	t.score = &score
	t.stopAt(t.reached()) // amend saves it in the state
	loss, bits := eval.Number(score.Loss), eval.Number(score.BitsPerByte)
	t.last.ValLoss, t.last.ValBits = &loss, &bits
	if score.Chance > 0 {
		accuracy := eval.Number(score.Accuracy)
		t.last.ValAccuracy = &accuracy
	}
	if score.Loss < t.best {
		t.best, t.bestStep = score.Loss, t.step()
	}
	t.report.Note(fmt.Sprintf("step %d  validation loss %.4f, perplexity %.3f, %.4f bits per byte%s", t.step(), score.Loss, score.Perplexity, score.BitsPerByte,
		score.AccuracyText()))
	if t.last.Step == t.step() { // false if an earlier program's run has lost its metrics
		if err := t.record(); err != nil {
			return err
		}
	}
	if err := t.amend(); err != nil {
		return err
	}
	t.tidy()
	t.draw()
	return nil
}
