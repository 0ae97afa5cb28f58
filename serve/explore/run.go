package explore

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
)

// Run asks for a prompt's tokens with their probabilities and for a text that continues it; if
// there are changes, for both a second time with the changes.
type Run struct {
	Prompt      string   `yaml:"prompt" json:"prompt,omitempty"`
	BOS         *bool    `yaml:"bos" json:"bos,omitempty"`               // read the token that begins documents before Prompt; null: as the tokenizer does
	IDs         []int32  `yaml:"ids" json:"ids,omitempty"`               // instead of Prompt
	Tokens      int      `yaml:"tokens" min:"0" json:"tokens,omitempty"` // how many to generate at most
	Temperature float64  `yaml:"temperature" min:"0" json:"temperature,omitempty"`
	TopK        int      `yaml:"top_k" min:"0" json:"top_k,omitempty"`
	TopP        *float64 `yaml:"top_p" min:"1e-6" max:"1" json:"top_p,omitempty"` // null: 1, no limit
	Seed        uint64   `yaml:"seed" json:"seed,omitempty"`
	Top         int      `yaml:"top" min:"0" max:"50" json:"top,omitempty"` // alternatives for each token; 0: 8
	Changes     []Change `yaml:"changes" json:"changes,omitempty"`
}

// Names of the two runs of a request with changes.
const (
	untouched = "untouched"
	changed   = "changed"
)

// Event is a line of a Run's answer.
type Event struct {
	Run   string `json:"run,omitempty"` // "untouched" or "changed"
	Token *Token `json:"token,omitempty"`
	// Stop says why a run's text ended: "tokens", or "document" if the model began another
	// document.
	Stop    string  `json:"stop,omitempty"`
	Seconds float64 `json:"seconds,omitempty"` // duration of the run, with Stop
	// Forced has, for each token of the untouched run, the probability that the changed model gives
	// it at its position; null for the first.
	Forced []*float64 `json:"forced,omitempty"`
}

// answerRun streams a Run's events as lines of JSON; after an error, the last line is {"error":
// ...}.
func (e *Explorer) answerRun(w http.ResponseWriter, r *http.Request) error {
	var asked Run
	if err := e.read(w, r, &asked); err != nil {
		return err
	}
	s := &lines{w: w, control: http.NewResponseController(w)}
	err := e.use(r.Context(), func(ctx context.Context) error { return e.answer(ctx, asked, s) })
	if err == nil || !s.begun {
		return err
	}
	if !errors.Is(err, context.Canceled) {
		s.send(failureOf(err))
	}
	return nil
}

// lines writes JSON line by line.
type lines struct {
	w       http.ResponseWriter
	control *http.ResponseController
	begun   bool
}

// writeTime is how long a client may leave a line unread.
const writeTime = 30 * time.Second

func (l *lines) send(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return errors.WithStack(err)
	}
	if !l.begun {
		l.w.Header().Set("Content-Type", "application/x-ndjson")
		l.begun = true
	}
	l.control.SetWriteDeadline(time.Now().Add(writeTime)) // fails without effect if the writer supports no deadlines
	if _, err := l.w.Write(append(text, '\n')); err != nil {
		return errors.WithStack(err)
	}
	return errors.WithStack(l.control.Flush())
}

// answer runs the model untouched and, if there are changes, changed.
func (e *Explorer) answer(ctx context.Context, asked Run, s *lines) error {
	ids, err := e.encode("prompt", asked.Prompt, asked.IDs, asked.BOS)
	if err != nil {
		return err
	}
	if room := e.options.Tokens - len(ids); asked.Tokens > room {
		return check.Value("tokens", fmt.Sprintf("0 to %d: a prompt and its text have at most %d tokens", room, e.options.Tokens), asked.Tokens)
	}
	asked.Top = e.topOf(asked.Top)
	changes, err := e.changes(asked.Changes)
	if err != nil {
		return err
	}
	p := &performance{e: e, asked: asked, all: changes, s: s}
	first, err := p.perform(ctx, untouched, ids, nil)
	if err != nil || len(changes) == 0 {
		return err
	}
	if _, err := p.perform(ctx, changed, ids, changes); err != nil {
		return overflow(err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	forced, err := p.score(first, changes)
	if err != nil {
		return overflow(err)
	}
	event := Event{Run: changed}
	for _, t := range forced {
		event.Forced = append(event.Forced, t.Probability)
	}
	return s.send(event)
}

// performance holds what the runs of one request share. All use the same programs, so that their
// differences come from the changes alone.
type performance struct {
	e     *Explorer
	asked Run
	all   []change
	s     *lines
}

// perform runs the model with some changes and returns all its tokens.
func (p *performance) perform(ctx context.Context, name string, ids []int32, changes []change) ([]int32, error) {
	begin := time.Now()
	tokens, err := p.score(ids, changes)
	if err != nil {
		return nil, err
	}
	for _, t := range tokens {
		t.Prompt = true
		if err := p.s.send(Event{Run: name, Token: &t}); err != nil {
			return nil, err
		}
	}
	stop := string(generate.StopTokens)
	if p.asked.Tokens > 0 {
		result, err := p.generate(ctx, name, ids, changes)
		if err != nil {
			return nil, err
		}
		ids, stop = append(ids[:len(ids):len(ids)], result.IDs...), string(result.Stop)
	}
	return ids, p.s.send(Event{Run: name, Stop: stop, Seconds: time.Since(begin).Seconds()})
}

// score returns the tokens of a row, each with its probability.
func (p *performance) score(ids []int32, changes []change) ([]Token, error) {
	var names []string
	for _, c := range p.all {
		names = append(names, c.Activation)
	}
	run, err := p.e.run(ids, names, interventions(changes, p.e.rowOf(len(ids))))
	if err != nil {
		return nil, err
	}
	var tokens []Token
	for i, id := range ids {
		var logits []float64
		if i > 0 {
			if logits, err = finite(run, i-1); err != nil {
				return nil, err
			}
		}
		tokens = append(tokens, p.e.token(i, id, logits, p.asked.Top))
	}
	return tokens, nil
}

// finite returns the logits for a token, or an error if they are not finite.
func finite(run *cache.Cache, token int) ([]float64, error) {
	logits, err := run.TokenLogits(token)
	for _, l := range logits {
		if math.IsNaN(l) || math.IsInf(l, 0) {
			return nil, errors.Wrapf(models.ErrDiverged, "token %d: the logits are not finite", token)
		}
	}
	return logits, err
}

// generate continues the prompt and sends each token.
func (p *performance) generate(ctx context.Context, name string, ids []int32, changes []change) (generate.Result, error) {
	g, err := p.e.generator(p.all)
	if err != nil {
		return generate.Result{}, err
	}
	g.changer.changes, g.changer.seen = changes, map[string]int{}
	defer func() { g.changer.changes = nil }()
	at := len(ids)
	return g.Generate(ctx, p.asked.request(ids), func(piece generate.Piece) error {
		for _, t := range piece.Tokens {
			token := p.e.generated(at, t)
			at++
			if err := p.s.send(Event{Run: name, Token: &token}); err != nil {
				return err
			}
		}
		return nil
	})
}

// request returns the request to the generator.
func (r Run) request(ids []int32) generate.Request {
	request := generate.Request{IDs: ids, Tokens: r.Tokens, Temperature: r.Temperature, TopK: r.TopK, Seed: r.Seed, LogProbs: r.Top}
	if r.TopP != nil {
		request.TopP = *r.TopP
	}
	return request
}

// generated converts a token of the generator.
func (e *Explorer) generated(position int, t generate.Token) Token {
	p := math.Exp(t.LogProb)
	token := Token{Position: position, ID: t.ID, Probability: &p}
	token.Text, token.Label = e.spell(t.ID)
	for _, other := range t.Top {
		token.Top = append(token.Top, e.alternative(other.ID, math.Exp(other.LogProb)))
	}
	return token
}
