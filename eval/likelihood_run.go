package eval

import (
	"context"
	"math"
	"sync"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/models"
)

// likelihoods answers requests, run after run.
type likelihoods struct {
	compute  graph.Options
	spec     models.Spec
	requests []Request
	answers  []Likelihood
	threads  int
	progress func(done, total int)
	done     int // requests answered
}

// spot is a position in a batch whose logits are wanted.
type spot struct{ row, position int }

// run compiles a program for the rows of a run and answers their requests.
func (l *likelihoods) run(ctx context.Context, r run) error {
	program, err := models.Compile(l.spec, r.rows, r.seq, models.Outputs{Logits: true, LogitsAt: r.positions}, graph.ProgramOptions{Options: l.compute})
	if err != nil {
		return err
	}
	defer program.Close()
	for _, rows := range r.batches {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := l.batch(program, r.seq, rows); err != nil {
			return err
		}
	}
	return nil
}

// batch answers the requests of some rows.
func (l *likelihoods) batch(program *models.Compiled, seq int, rows []row) error {
	clear(program.Tokens)
	clear(program.At)
	at := map[spot]int{} // row of the logits that holds each position
	for k, row := range rows {
		copy(program.Tokens[k*seq:], row.tokens)
		for _, p := range row.positions {
			program.At[len(at)] = int32(k*seq + p)
			at[spot{k, p}] = len(at)
		}
	}
	if err := program.Run(graph.RunOptions{}); err != nil {
		return err
	}
	value, err := graph.Value(program.Logits) // [at, vocab]
	if err != nil {
		return err
	}
	places := l.normalise(value.Float32s(), len(at))
	for k, row := range rows {
		for j, i := range row.requests {
			if err := l.answer(i, func(p int) place { return places[at[spot{k, row.from[j] + p}]] }); err != nil {
				return err
			}
		}
		l.done += len(row.requests)
	}
	if l.progress != nil {
		l.progress(l.done, len(l.requests))
	}
	return nil
}

// answer fills in the answer to request i; at returns the distribution that predicts token p of the
// continuation.
func (l *likelihoods) answer(i int, at func(p int) place) error {
	answer := &l.answers[i]
	for p, id := range l.requests[i].Continuation {
		place := at(p)
		logProb := float64(place.logits[id]) - place.logZ
		if math.IsNaN(logProb) || math.IsInf(logProb, 0) {
			return errors.Wrapf(models.ErrDiverged, "eval: the log-likelihood of token %d is %g", id, logProb)
		}
		answer.LogProbs[p] = logProb
		answer.Greedy = answer.Greedy && place.likeliest == id
	}
	return nil
}

// place is the distribution over tokens at one position.
type place struct {
	logits    []float32 // [vocab]
	logZ      float64   // log sum exp of the logits
	likeliest int32     // id of the largest logit, the first of equals
}

// normalise returns the distributions of the first n rows of logits [n, vocab].
func (l *likelihoods) normalise(logits []float32, n int) []place {
	places := make([]place, n)
	var workers sync.WaitGroup
	for w := range min(l.threads, n) {
		workers.Go(func() {
			scratch := make([]float32, l.spec.Vocab)
			for i := w; i < n; i += l.threads {
				row := logits[i*l.spec.Vocab:][:l.spec.Vocab]
				copy(scratch, row)
				logZ, likeliest := kernel.LogSumExp(scratch)
				places[i] = place{row, logZ, int32(likeliest)}
			}
		})
	}
	workers.Wait()
	return places
}
