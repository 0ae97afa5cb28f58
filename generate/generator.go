package generate

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// Errors for a request that Generate cannot take at the moment.
var (
	ErrBusy   = errors.New("generate: the queue of waiting requests is full: try again later")
	ErrClosed = errors.New("generate: the generator is closed")
)

// Generator continues texts with one model, several at a time: each text has a row in one
// cache of keys and values. A prompt is read many tokens at a time; between these runs of the
// model, one run generates the next token of every text whose prompt has been read. A
// Generator shares the Store: if it is made while a run trains, it uses the current weights.
// It is safe for concurrent use.
type Generator struct {
	tokenizer data.Tokenizer // nil: the model has none
	eos       []int32        // ids that end a text
	vocab     int            // size of the model's vocabulary
	machine   *machine
	most      int // limit on requests, running and waiting

	mu       sync.Mutex
	accepted int    // requests that have not ended
	waiting  []*job // those without a row yet, in order
	closed   bool
	wake     chan struct{} // wakes the loop after a change
	ended    chan struct{} // closed when the loop has ended
}

// New compiles a generating program over a Store that holds the parameters of spec; programs that
// read prompts are compiled when they are first needed. The tokenizer's ids must lie in the model's
// vocabulary; with nil, for a model without a tokenizer, the Generator takes and returns ids alone.
// Errors: models.ErrNoParameters, *data.VocabularyError, and *layers.SettingError for the options.
func New(store *graph.Store, spec models.Spec, t data.Tokenizer, o Options) (*Generator, error) {
	if err := check(store, spec, t); err != nil {
		return nil, err
	}
	window, rows, err := o.sizes(spec, graph.AvailableMemory())
	if err != nil {
		return nil, err
	}
	m, err := newMachine(store, spec, o, window, rows)
	if err != nil {
		return nil, errors.Wrap(err, "generate")
	}
	if t != nil {
		o.EOS = data.EOS(t)
	}
	g := &Generator{tokenizer: t, eos: o.EOS, vocab: spec.Vocab, machine: m, most: rows + cmp.Or(o.Queue, defaultQueue), wake: make(chan struct{}, 1),
		ended: make(chan struct{})}
	go g.loop()
	return g, nil
}

// Window returns the largest number of tokens that the model sees.
func (g *Generator) Window() int { return g.machine.cache.Capacity() }

// Rows returns how many texts are continued at a time.
func (g *Generator) Rows() int { return g.machine.cache.Rows() }

// Close refuses new requests, waits until the running ones have ended (cancel their contexts to
// speed this up), and stops the programs' workers.
func (g *Generator) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.signal()
	<-g.ended
}

func (g *Generator) signal() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// submit queues a job.
func (g *Generator) submit(j *job) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return ErrClosed
	case g.accepted == g.most:
		return ErrBusy
	}
	g.accepted++
	g.waiting = append(g.waiting, j)
	g.signal()
	return nil
}

// abandon ends a job whose caller has gone. If the job has a row, the loop frees it; if there are
// hooks, abandon waits for that, because they may use what the caller changes next.
func (g *Generator) abandon(j *job) {
	j.abandoned.Store(true)
	g.mu.Lock()
	i := slices.Index(g.waiting, j)
	if i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
		g.accepted--
	}
	g.mu.Unlock()
	if i < 0 && len(g.machine.options.Hooks) > 0 {
		<-j.freed
	}
}

// follow emits the pieces of a job until it has ended.
func (g *Generator) follow(ctx context.Context, j *job, emit func(Piece) error, result *Result) error {
	for {
		select {
		case <-j.news:
		case <-ctx.Done():
		}
		pieces, ended, err := j.take()
		for _, p := range pieces {
			if err := ctx.Err(); err != nil {
				return err
			}
			if !p.prompt {
				result.add(p.Tokens)
			}
			if emit == nil {
				continue
			}
			if err := emit(p); err != nil {
				return err
			}
		}
		switch {
		case ended && err == nil:
			result.Stop = j.stop
			return nil
		case ended:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
}
