package generate

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/residua-go/residua/layers"
)

// Request asks for a text. The zero value asks for none, after an empty prompt.
type Request struct {
	// Prompt is what to continue. The model reads BOS and its tokens, the form in which
	// a document begins in training; of a prompt longer than the window, the end.
	Prompt string
	// IDs are token ids in the place of Prompt: the model reads them as they are, without
	// a BOS before them.
	IDs  []int32
	Echo bool // emit the prompt, too, before the text that continues it

	Tokens int // to generate at most
	// Stop are strings that end the text: the first of them to be complete in what is
	// generated, however tokens divide it, is left out with all after it. The prompt
	// may hold them.
	Stop        []string
	Temperature float64 // divides the logits; 0: always the likeliest token
	TopK        int     // draw among the k likeliest tokens; 0: all
	TopP        float64 // draw among the fewest tokens that have this probability together; 0 or 1: all
	// LogProbs asks for the log probability of each token that is generated, and of as many
	// of the likeliest tokens in its place (Token); 0: for none.
	LogProbs int
	// Seed is that of the draws: the same seed gives the same text, on the same kind of
	// processor and with the same Options.Threads.
	Seed uint64
}

// Validate tells the first value that nothing can be generated with; the error is a
// *layers.SettingError.
func (r Request) Validate() error {
	switch {
	case r.Prompt != "" && len(r.IDs) > 0:
		return layers.Setting("ids", "want them in the place of a prompt, got both")
	case slices.Contains(r.Stop, ""):
		return layers.Setting("stop", "want a string, got an empty one")
	case r.Tokens < 0:
		return layers.Setting("tokens", "want >= 0, got %d", r.Tokens)
	case !(r.Temperature >= 0) || math.IsInf(r.Temperature, 0):
		return layers.Setting("temperature", "want >= 0 (0: always the likeliest token), got %g", r.Temperature)
	case r.TopK < 0:
		return layers.Setting("top-k", "want >= 1, or 0 for no limit, got %d", r.TopK)
	case r.LogProbs < 0:
		return layers.Setting("logprobs", "want >= 1, or 0 for none, got %d", r.LogProbs)
	case !(r.TopP >= 0 && r.TopP <= 1):
		return layers.Setting("top-p", "want above 0 and at most 1 (1: no limit), got %g", r.TopP)
	}
	return nil
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
