package tasks

import (
	"context"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// Result holds what a model scored on a task.
type Result struct {
	Checkpoint string   // the model's path, if the caller sets it
	Task       string   // the task's file
	Format     string   // the format's name
	Shots      int      // examples before each document
	Documents  int      // number of documents asked
	Truncated  int      // requests longer than the model's training length, whose beginning was cut off
	Metrics    []Metric // with lm-eval's names, in its order
	Samples    []Sample // one per document
	Difference []Metric // compared with another model, as Against computes it, if the caller sets it
}

// Sample holds a model's answer to one document.
type Sample struct {
	Line           int       `json:"line"`               // line of the task's file
	LogLikelihoods []float64 `json:"log_likelihoods"`    // of each choice, of the last word or of the page
	Greedy         []bool    `json:"greedy,omitempty"`   // whether each token is the likeliest
	Acc            *bool     `json:"acc,omitempty"`      // the right choice, or the last word, is the likeliest
	AccNorm        *bool     `json:"acc_norm,omitempty"` // the same with likelihoods per character
	words, bytes   int
}

// asked holds the requests of a task, and the document of each.
type asked struct {
	requests  []eval.Request
	owners    []owner
	truncated int
}

// owner tells to which document and pair a request belongs; all windows of a page belong to pair 0.
type owner struct{ document, pair int }

// Score asks the model whose parameters a Store holds about all documents. The tokenizer must be
// the model's. o.PerToken is not called. Errors: those of eval.Likelihoods, with file:line if a
// document causes them, and *data.VocabularyError.
func (t *Task) Score(ctx context.Context, store *graph.Store, spec models.Spec, tokenizer data.Tokenizer, o eval.Options) (Result, error) {
	if err := data.CheckVocabulary(tokenizer, spec.Vocab); err != nil {
		return Result{}, err
	}
	asked := t.ask(tokenizer, spec.Seq)
	answers, err := eval.Likelihoods(ctx, store, spec, asked.requests, o)
	var bad *eval.RequestError
	if errors.As(err, &bad) {
		return Result{}, t.blame(asked.owners[bad.Index], bad)
	}
	if err != nil {
		return Result{}, err
	}
	r := Result{Task: t.file, Format: t.format.Name, Shots: t.options.Shots, Documents: len(t.documents), Truncated: asked.truncated,
		Samples: t.samples(asked, answers)}
	r.Metrics = t.metrics(r.Samples)
	return r, nil
}

// ask makes the requests of all documents.
func (t *Task) ask(tokenizer data.Tokenizer, window int) asked {
	var a asked
	for i, d := range t.documents {
		for k, p := range d.Pairs {
			a.requests = append(a.requests, p.encode(tokenizer, t.options.BOS))
			a.owners = append(a.owners, owner{i, k})
			if r := a.requests[len(a.requests)-1]; len(r.Context)+len(r.Continuation) > window+1 {
				a.truncated++
			}
		}
		if t.format.kind != rolling {
			continue
		}
		for _, r := range windows(tokenizer.Encode(nil, d.Page), tokenizer.BOS(), window) {
			a.requests = append(a.requests, r)
			a.owners = append(a.owners, owner{document: i})
		}
	}
	return a
}

// blame adds the line of the file to the error of a request.
func (t *Task) blame(o owner, bad *eval.RequestError) error {
	d := t.documents[o.document]
	if t.format.kind == multipleChoice {
		return errors.Wrapf(bad, "%s:%d: choice %d", t.file, d.Line, o.pair)
	}
	return errors.Wrapf(bad, "%s:%d", t.file, d.Line)
}

// samples sums the answers by document.
func (t *Task) samples(a asked, answers []eval.Likelihood) []Sample {
	samples := make([]Sample, len(t.documents))
	for i, d := range t.documents {
		samples[i] = Sample{Line: d.Line, LogLikelihoods: make([]float64, max(1, len(d.Pairs))), Greedy: make([]bool, len(d.Pairs)),
			words: countWords(d.Page), bytes: len(d.Page)}
	}
	for i, o := range a.owners {
		s := &samples[o.document]
		s.LogLikelihoods[o.pair] += answers[i].Sum()
		if t.format.kind != rolling {
			s.Greedy[o.pair] = answers[i].Greedy
		}
	}
	for i := range samples {
		t.judge(&samples[i], t.documents[i])
	}
	return samples
}
