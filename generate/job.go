package generate

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/models"
)

// job is a request in progress. The loop advances it; its caller takes the pieces and emits them.
type job struct {
	g       *Generator
	request Request
	prompt  []int32
	text    *text
	draw    *sampler
	row     int // its row in the cache

	context []int32 // tokens that the row holds
	next    []int32 // tokens that have to pass through the model
	silent  int     // how many tokens at the beginning of next need no logits
	scored  []Token // tokens of the prompt scored so far, with Request.PromptLogProbs
	scoring bool
	tokens  int // number of tokens generated
	// answering tells whether the prompt has been read, and emitted if the request asks for
	// it.
	answering bool

	abandoned atomic.Bool   // the caller has gone
	freed     chan struct{} // closed when the loop has freed its row

	mu           sync.Mutex
	pieces       []Piece   // to be emitted
	begun, ended time.Time // when the first token was drawn, and when the job ended; zero before
	stop         Stop
	err          error
	news         chan struct{} // signals the caller
}

func (g *Generator) newJob(r Request, prompt []int32) *job {
	j := &job{g: g, request: r, prompt: prompt, draw: newSampler(r, prompt), freed: make(chan struct{}), news: make(chan struct{}, 1)}
	j.text = g.text(r, func(p Piece) {
		p.prompt = !j.answering
		j.tell(func() { j.pieces = append(j.pieces, p) })
	})
	return j
}

// tell makes a change under the lock and signals the caller.
func (j *job) tell(change func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	change()
	select {
	case j.news <- struct{}{}:
	default:
	}
}

// take returns what has been added since the last call.
func (j *job) take() (pieces []Piece, over bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	pieces, j.pieces = j.pieces, nil
	return pieces, !j.ended.IsZero(), j.err
}

// end ends the job, with an error or with the reason why the text ended.
func (j *job) end(stop Stop, err error) {
	j.tell(func() { j.ended, j.stop, j.err = time.Now(), stop, err })
}

// time returns the time spent on the generated tokens so far.
func (j *job) time() time.Duration {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.begun.IsZero():
		return 0
	case j.ended.IsZero():
		return time.Since(j.begun)
	}
	return j.ended.Sub(j.begun)
}

// start decides which tokens have to be read first.
func (j *job) start() {
	if j.scoring = j.request.PromptLogProbs; j.scoring {
		j.scored = append(j.scored, newToken(j.prompt[0], nil, j.g.tokenizer, 0))
		j.next = slices.Clone(j.prompt)
		if j.request.Tokens == 0 { // no token follows the last one, so it need not be read
			j.next = j.next[:len(j.next)-1]
		}
		if len(j.next) == 0 {
			j.finishScoring()
		}
		return
	}
	j.begin(nil)
}

// begin ends the reading of the prompt and emits it if the request asks for it, with its
// tokens if these have been scored.
func (j *job) begin(scored []Token) {
	j.text.prompt(j.prompt, scored, j.request.Echo)
	j.answering = true
	if j.request.Tokens == 0 {
		j.finish(StopTokens)
		return
	}
	if window := j.g.Window(); scored == nil || len(j.prompt) > window {
		j.restart(j.prompt[max(0, len(j.prompt)-window):], nil)
	}
}

// restart clears the row and schedules new tokens to read: recent, of which only the last
// needs logits, then more.
func (j *job) restart(recent, more []int32) {
	j.g.machine.cache.Reset(j.row)
	j.context, j.next, j.silent = j.context[:0], slices.Concat(recent, more), len(recent)-1
}

// slide makes room for the next token in a full window: it forgets all but the last half.
func (j *job) slide() {
	if window := j.g.Window(); len(j.context) == window {
		recent := slices.Concat(j.context, j.next[:1])
		j.restart(recent[len(recent)-max(1, window/2):], j.next[1:])
	}
}

// fits returns the tokens to read next, as many as the window has room for.
func (j *job) fits() []int32 {
	return j.next[:min(len(j.next), j.g.Window()-len(j.context))]
}

// passed records that n tokens have passed through the model, with the logits of all of them or of
// the last.
func (j *job) passed(n int, logits []float32) {
	j.context, j.next = append(j.context, j.next[:n]...), j.next[n:]
	vocab, silent := j.g.vocab, j.silent
	j.silent = max(0, silent-n)
	first := n - len(logits)/vocab // index of the first token with logits
	for i := max(first, silent); i < n && !j.isOver(); i++ {
		j.use(logits[(i-first)*vocab:][:vocab])
	}
}

func (j *job) isOver() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return !j.ended.IsZero()
}

// use takes the logits that predict the token after the last one.
func (j *job) use(logits []float32) {
	switch {
	case !finite(logits) && j.scoring:
		j.end(StopError, errors.Wrapf(models.ErrDiverged, "generate: token %d of the prompt: the logits are not finite", len(j.scored)))
	case !finite(logits):
		j.end(StopError, errors.Wrapf(models.ErrDiverged, "generate: token %d: the logits are not finite", j.tokens+1))
	case !j.scoring:
		j.extend(logits)
	case len(j.scored) < len(j.prompt):
		j.scored = append(j.scored, newToken(j.prompt[len(j.scored)], logits, j.g.tokenizer, j.request.LogProbs))
		if len(j.scored) == len(j.prompt) && j.request.Tokens == 0 {
			j.finishScoring()
		}
	default:
		j.finishScoring()
		if len(j.prompt) <= j.g.Window() {
			j.extend(logits)
		}
	}
}

func (j *job) finishScoring() {
	scored := j.scored
	j.scoring, j.scored = false, nil
	j.begin(scored)
}

// extend draws a token and adds it to the text.
func (j *job) extend(logits []float32) {
	if j.begun.IsZero() {
		j.tell(func() { j.begun = time.Now() })
	}
	id := j.draw.next(logits[:j.g.drawn()])
	if slices.Contains(j.g.eos, id) {
		j.finish(StopDocument)
		return
	}
	j.tokens++
	j.text.add(newToken(id, logits, j.g.tokenizer, j.request.LogProbs))
	if j.text.stopped || j.tokens == j.request.Tokens { // no token follows this one, so it need not be read
		j.finish(StopTokens)
		return
	}
	j.next = append(j.next[:0], id)
}

// finish ends the text.
func (j *job) finish(reason Stop) { j.end(j.text.finish(reason), nil) }
