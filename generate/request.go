package generate

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/layers"
)

// Request asks for a text. The zero value asks for no tokens after an empty prompt. The tags define
// the flags of the generate command.
type Request struct {
	// Prompt is the text to continue, which data.EncodePrompt reads: after the token that begins
	// documents if BOS is true or if BOS is nil and the tokenizer adds it.
	Prompt string
	BOS    *bool `yaml:"bos" bare:"true" help:"read the token that begins documents before a prompt's text; -bos=false: do not (default: as the tokenizer does)"`
	// IDs replaces Prompt by token ids, which the model reads as they are, without a BOS before
	// them.
	IDs []int32
	// Slide lets the model read only the end of a prompt that is longer than the window. Without
	// it, such a prompt is a *WindowError.
	Slide bool `yaml:"slide" help:"if a prompt is longer than the window, read only its end"`
	Echo  bool // emit the prompt before the text that continues it

	Tokens int `yaml:"tokens" default:"200" help:"generate at most <N> tokens"`
	// Stop lists strings that end the text. The text ends before the stop string that is
	// completed first, however the string is split into tokens. The prompt may contain stop
	// strings.
	Stop []string `yaml:"stop" help:"stop where the model generates <TEXT>, which is left out; may be repeated"`

	// The settings below change the logits l and choose among the tokens, in this order, as Hugging
	// Face's transformers do. Each zero value changes nothing.

	LogitBias map[int32]float64 // added to the logits: l_i + LogitBias[i]; -100 practically forbids a token, 100 practically forces it
	// RepetitionPenalty c changes the logit l_i of each token that occurs in the prompt or in the
	// text so far: to l_i / c if it is positive, to c l_i if it is negative (Keskar et al. 2019,
	// section 4.1). These tokens become less likely if c is above 1, more likely if it is below. 0
	// or 1: no penalty.
	RepetitionPenalty float64 `yaml:"repetition_penalty" default:"1" help:"divide positive logits of the text's tokens by <C>, multiply negative ones; 1: neither"`
	// Temperature T: p_i = exp(l_i/T) / sum_j exp(l_j/T); 0: the largest l_i, and nothing is drawn.
	Temperature float64 `yaml:"temperature" default:"0.8" help:"divide the logits by <T>; 0: greedy, always the likeliest token"`
	// TopK draws among the k likeliest tokens; 0: among all.
	TopK int `yaml:"top_k" help:"sample from the <K> likeliest tokens; 0: from all"`
	// TopP draws, of these, among the fewest likeliest that have this share of their probability
	// (Holtzman et al. 2020); 0 or 1: among all.
	TopP float64 `yaml:"top_p" default:"1" help:"sample from the likeliest tokens whose probabilities add up to <P>; 1: from all"`
	// MinP draws, of these, among those at least MinP times as likely as the likeliest (Nguyen et
	// al. 2024); 0: among all.
	MinP float64 `yaml:"min_p" help:"sample from the tokens that are at least <P> times as likely as the likeliest; 0: from all"`

	// LogProbs asks for the log probability of each generated token, and of this many likeliest
	// tokens at its position (Token); 0: for none.
	LogProbs int `yaml:"logprobs" help:"after a text list, in nats, the log probability of each of its tokens and of the <N> likeliest in its place"`
	// PromptLogProbs, with Echo and LogProbs, adds to the prompt's Piece its tokens with their log
	// probabilities, each given the tokens before it. The first token has none.
	PromptLogProbs bool
	// Seed seeds the draws: the same seed gives the same text, on processors of one kind.
	Seed uint64 `yaml:"seed" help:"seed of the random numbers: <N>"`
}

// Validate returns a *layers.SettingError for the first invalid value.
func (r Request) Validate() error {
	switch {
	case r.Prompt != "" && len(r.IDs) > 0:
		return layers.Setting("ids", "want either ids or a prompt, got both")
	case r.BOS != nil && len(r.IDs) > 0:
		return layers.Setting("bos", "want it with the text of a prompt alone, got ids, which are read as they are")
	case slices.Contains(r.Stop, ""):
		return layers.Setting("stop", "want a string, got an empty one")
	case r.Tokens < 0:
		return layers.Setting("tokens", "want >= 0, got %d", r.Tokens)
	case r.RepetitionPenalty != 0 && !(r.RepetitionPenalty >= 1e-3 && r.RepetitionPenalty <= 1e3):
		return layers.Setting("repetition-penalty", "want 0.001 to 1000 (1: none), got %g", r.RepetitionPenalty)
	case !(r.Temperature >= 0) || math.IsInf(r.Temperature, 0):
		return layers.Setting("temperature", "want >= 0 (0: always the likeliest token), got %g", r.Temperature)
	case r.TopK < 0:
		return layers.Setting("top-k", "want >= 1, or 0 for no limit, got %d", r.TopK)
	case !(r.TopP >= 0 && r.TopP <= 1):
		return layers.Setting("top-p", "want above 0 and at most 1 (1: no limit), got %g", r.TopP)
	case !(r.MinP >= 0 && r.MinP <= 1):
		return layers.Setting("min-p", "want >= 0 (0: no limit) and <= 1, got %g", r.MinP)
	case r.LogProbs < 0:
		return layers.Setting("logprobs", "want >= 1, or 0 for none, got %d", r.LogProbs)
	case r.PromptLogProbs && !(r.Echo && r.LogProbs > 0):
		return layers.Setting("prompt-logprobs", "want echo and logprobs >= 1 with it, got echo %t and logprobs %d", r.Echo, r.LogProbs)
	}
	return r.validateBias()
}

// maxBias bounds a logit's bias: it is far more than enough to decide a draw, and float32 sums stay
// finite.
const maxBias = 1e6

// validateBias reports the first bias, in order of ids, that is too large.
func (r Request) validateBias() error {
	for _, id := range slices.Sorted(maps.Keys(r.LogitBias)) {
		if bias := r.LogitBias[id]; !(math.Abs(bias) <= maxBias) {
			return layers.Setting("logit-bias", "token %d: want a number of -1e6 to 1e6, got %g", id, bias)
		}
	}
	return nil
}

// validateIDs reports the first token that is not in a vocabulary of that size.
func (r Request) validateIDs(vocab int) error {
	if err := data.CheckIDs(r.IDs, vocab); err != nil {
		return layers.Setting("ids", "%v", err)
	}
	for _, id := range slices.Sorted(maps.Keys(r.LogitBias)) {
		if id < 0 || int(id) >= vocab {
			return layers.Setting("logit-bias", "want ids of 0 to %d, got %d", vocab-1, id)
		}
	}
	return nil
}

// WindowError reports a prompt longer than the window.
type WindowError struct{ Tokens, Window int }

// Error names the limit and the setting that lifts it.
func (e *WindowError) Error() string {
	return fmt.Sprintf("prompt: want at most %d tokens, the model's window, got %d: "+
		"shorten it, or set slide (-slide), so that the model sees its end alone", e.Window, e.Tokens)
}

// Stop says why a text ended.
type Stop string

// Reasons for a text's end.
const (
	StopTokens   Stop = "tokens"   // the requested number of tokens was generated
	StopDocument Stop = "document" // the model drew one of its end tokens: the document ends here
	StopString   Stop = "stop"     // one of the request's stop strings was generated
	StopError    Stop = "error"    // the request was cancelled, or failed
)

// Result describes a generated text.
type Result struct {
	PromptTokens int     // including BOS, if it was read
	PromptIDs    []int32 // those tokens
	Tokens       int     // number generated, without the token that ends a document
	IDs          []int32 // those tokens, including the ones of a stop string
	Stop         Stop
	Time         time.Duration // spent on the generated tokens, without reading the prompt
}

// add records emitted tokens.
func (r *Result) add(tokens []Token) {
	for _, t := range tokens {
		r.IDs = append(r.IDs, t.ID)
	}
	r.Tokens = len(r.IDs)
}

// TokensPerSecond returns the speed of generation, 0 if no time could be measured.
func (r Result) TokensPerSecond() float64 {
	if r.Time <= 0 {
		return 0
	}
	return float64(r.Tokens) / r.Time.Seconds()
}

// SampleSeed returns the seed of sample i when several samples are drawn with one seed: the
// seed itself for sample 0, and for the others numbers below 2^53, which every JSON reader
// keeps exactly.
func SampleSeed(seed uint64, i int) uint64 {
	if i == 0 {
		return seed
	}
	return rand.NewPCG(seed, uint64(i)).Uint64() >> 11
}
