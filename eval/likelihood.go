package eval

import (
	"context"
	"runtime"

	"github.com/pkg/errors"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

// Request asks for the likelihood of a continuation, given a context.
type Request struct {
	Context      []int32 // at least one token, because the last one predicts the continuation's first
	Continuation []int32 // at least one token, at most as many as the model's training length
}

// Likelihood is the answer to a Request.
type Likelihood struct {
	LogProbs []float64 // log p of each token of the continuation, in nats
	Greedy   bool      // each token of the continuation is the likeliest at its position (the first of equals)
}

// Sum returns the log-likelihood of the whole continuation.
func (l Likelihood) Sum() float64 {
	sum := 0.0
	for _, p := range l.LogProbs {
		sum += p
	}
	return sum
}

// Likelihoods returns the log-likelihood of each request's continuation given its context:
//
//	log p(continuation | context) = sum_i log p(continuation_i | context, continuation_<i)
//
// The model sees the last Seq + 1 tokens of context and continuation together, except the very last
// token, as in EleutherAI's lm-evaluation-harness; Seq is its training length. A longer context
// loses its beginning. A request whose input is the beginning of another's shares its row, as the
// answers of one token to one question do. Logits are computed at the positions of the
// continuations only, and summed in float64. With o.Batch 0, as many rows run together as have
// 2,048 tokens. o.PerToken is not called.
//
// Errors: *layers.SettingError for the batch, *RequestError for the first request that cannot be
// answered, and models.ErrDiverged, wrapped, if a log-likelihood is not finite.
func Likelihoods(ctx context.Context, store *graph.Store, spec models.Spec, requests []Request, o Options) ([]Likelihood, error) {
	if o.Batch < 0 {
		return nil, layers.Setting("batch", "want >= 0 (0: rows of 2048 tokens together), got %d", o.Batch)
	}
	if err := models.CheckStore(store); err != nil {
		return nil, errors.Wrap(err, "eval")
	}
	if err := checkType(store); err != nil {
		return nil, err
	}
	for i, r := range requests {
		if err := r.check(spec); err != nil {
			return nil, &RequestError{i, err}
		}
	}
	answers := make([]Likelihood, len(requests))
	for i, r := range requests {
		answers[i] = Likelihood{make([]float64, len(r.Continuation)), true}
	}
	scorer := likelihoods{
		compute: graph.Options{Store: store.Serve(), Threads: o.Threads, Device: o.Device, Context: ctx}.For(o.Precision),
		spec:    spec, requests: requests, answers: answers, threads: o.Threads, progress: o.Progress,
	}
	if scorer.threads == 0 {
		scorer.threads = runtime.GOMAXPROCS(0)
	}
	for _, p := range planRuns(rowsOf(requests, spec.Seq), spec, o.Batch) {
		if err := scorer.run(ctx, p); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// checkType returns an error unless the Store holds float32, in which losses and logits are
// read.
func checkType(store *graph.Store) error {
	if store.DType() != tensor.Float32 {
		return errors.Errorf("eval: want a store of float32, got %v", store.DType())
	}
	return nil
}

// RequestError reports a request that cannot be answered.
type RequestError struct {
	Index   int // index of the request
	Problem error
}

// Error says what is wrong with it.
func (e *RequestError) Error() string { return e.Problem.Error() }

// Unwrap returns the problem.
func (e *RequestError) Unwrap() error { return e.Problem }

// check returns an error if the request cannot be answered.
func (r Request) check(spec models.Spec) error {
	switch n := len(r.Continuation); {
	case len(r.Context) == 0:
		return errors.New("want a context of at least 1 token, got none")
	case n == 0:
		return errors.New("want a continuation of at least 1 token, got none")
	case n > spec.Seq:
		return errors.Errorf("want a continuation of at most %d tokens, the model's training length, got %d", spec.Seq, n)
	}
	for _, ids := range [][]int32{r.Context, r.Continuation} {
		if err := data.CheckIDs(ids, spec.Vocab); err != nil {
			return errors.Errorf("%v: was the text encoded with another model's tokenizer?", err)
		}
	}
	return nil
}
