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

// Request asks for a text. The zero value asks for none, after an empty prompt. The tags are those of the command generate's flags.
type Request struct {
	// Prompt is what to continue, read as data.EncodePrompt says: after a BOS, unless BOS is false.
	Prompt string
	BOS    *bool `yaml:"bos" bare:"true" help:"read the token that begins documents before the text of a prompt; -bos=false: read the text as one from the middle of a document (default true)"`
	// IDs are token ids in the place of Prompt: the model reads them as they are, without
	// a BOS before them.
	IDs []int32
	// Slide lets the model see the end alone of a prompt that is longer than the window,
	// which is a *WindowError without it.
	Slide bool `yaml:"slide" help:"of a prompt that is longer than the window, let the model see the end alone"`
	Echo  bool // emit the prompt, too, before the text that continues it

	Tokens int `yaml:"tokens" default:"200" help:"generate at most <N> tokens"`
	// Stop are strings that end the text: the first of them to be complete in what is
	// generated, however tokens divide it, is left out with all after it. The prompt
	// may hold them.
	Stop []string `yaml:"stop" help:"stop where the model generates <TEXT>, which is left out; may be repeated"`

	// What follows changes the logits l and chooses among the tokens, in this order, which
	// is that of Hugging Face's transformers. Each zero value changes nothing.

	LogitBias map[int32]float64 // l_i + LogitBias[i]; -100 is as good as never, 100 as good as always
	// RepetitionPenalty c makes l_i of each token of the prompt and of the text so far l_i / c
	// where it is positive, c l_i where it is negative (Keskar et al. 2019, section 4.1): above 1
	// they become less likely, below 1 more. 0 or 1: none.
	RepetitionPenalty float64 `yaml:"repetition_penalty" default:"1" help:"divide the positive logits of tokens that the text has already by <C>, multiply the negative ones; 1: none"`
	Temperature       float64 `yaml:"temperature" default:"0.8" help:"divide the logits by <T>; 0: greedy, always the likeliest token"`         // p_i = exp(l_i/T) / sum_j exp(l_j/T); 0: the largest l_i, and nothing is drawn
	TopK              int     `yaml:"top_k" help:"sample from the <K> likeliest tokens; 0: from all"`                                           // draw among the k likeliest tokens; 0: all
	TopP              float64 `yaml:"top_p" default:"1" help:"sample from the likeliest tokens whose probabilities add up to <P>; 1: from all"` // of these, among the fewest that have this share of their probability (Holtzman et al. 2020); 0 or 1: all
	MinP              float64 `yaml:"min_p" help:"sample from the tokens that are at least <P> times as likely as the likeliest; 0: from all"`  // of these, among those at least MinP times as likely as the likeliest (Nguyen et al. 2024); 0: all

	// LogProbs asks for the log probability of each token that is generated, and of as many
	// of the likeliest tokens in its place (Token); 0: for none.
	LogProbs int `yaml:"logprobs" help:"after a text, list the log probability, in nats, of each of its tokens and the <N> likeliest in its place, by the model's own distribution"`
	// PromptLogProbs, with Echo and LogProbs, gives the prompt's Piece its tokens with their log
	// probabilities: those of what stands before each. The first token has none.
	PromptLogProbs bool
	// Seed begins the draws: the same seed gives the same text, on processors of one kind.
	Seed uint64 `yaml:"seed" help:"seed of the random numbers: <N>"`
}

// Validate tells the first value that nothing can be generated with; the error is a
// *layers.SettingError.
func (r Request) Validate() error {
	switch {
	case r.Prompt != "" && len(r.IDs) > 0:
		return layers.Setting("ids", "want them in the place of a prompt, got both")
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

// maxBias bounds a logit's bias: far more than decides, and sums that float32 has room for.
const maxBias = 1e6

// validateBias tells the first bias in order of ids that is too large.
func (r Request) validateBias() error {
	for _, id := range slices.Sorted(maps.Keys(r.LogitBias)) {
		if bias := r.LogitBias[id]; !(math.Abs(bias) <= maxBias) {
			return layers.Setting("logit-bias", "token %d: want a number of -1e6 to 1e6, got %g", id, bias)
		}
	}
	return nil
}

// validateIDs tells the first token that a model with a vocabulary does not have.
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

// WindowError is a prompt longer than the window.
type WindowError struct{ Tokens, Window int }

// Error names the limit and what lifts it.
func (e *WindowError) Error() string {
	return fmt.Sprintf("prompt: want at most %d tokens, the model's window, got %d: shorten it, or set slide (-slide), so that the model sees its end alone", e.Window, e.Tokens)
}

// Stop says why a text ended.
type Stop string

// The reasons.
const (
	StopTokens   Stop = "tokens"   // as many as were asked for
	StopDocument Stop = "document" // the model drew BOS: the document ends here
	StopString   Stop = "stop"     // one of the request's stop strings was generated
	StopError    Stop = "error"    // cancelled, or failed
)

// Result tells how a text came about.
type Result struct {
	PromptTokens int     // BOS included
	PromptIDs    []int32 // the same tokens
	Tokens       int     // generated, the BOS that ends a document left out
	IDs          []int32 // the same tokens, those of a stop string included
	Stop         Stop
	Time         time.Duration // that the generated tokens took, without reading the prompt
}

// add counts tokens that were emitted.
func (r *Result) add(tokens []Token) {
	for _, t := range tokens {
		r.IDs = append(r.IDs, t.ID)
	}
	r.Tokens = len(r.IDs)
}

// TokensPerSecond is the speed of generating; 0 where no time could be measured.
func (r Result) TokensPerSecond() float64 {
	if r.Time <= 0 {
		return 0
	}
	return float64(r.Tokens) / r.Time.Seconds()
}

// SampleSeed returns the seed of sample i of several that are drawn with one seed: the
// seed itself for sample 0, then numbers below 2^53, which every reader of JSON keeps.
func SampleSeed(seed uint64, i int) uint64 {
	if i == 0 {
		return seed
	}
	return rand.NewPCG(seed, uint64(i)).Uint64() >> 11
}
