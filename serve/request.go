package serve

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strconv"

	"github.com/residua-go/residua/generate"
)

// sampling are the fields of a request that completions and chats share. min_p, top_k and
// repetition_penalty come from vLLM, everything else from OpenAI.
type sampling struct {
	Model     string      `yaml:"model"`
	MaxTokens *int        `yaml:"max_tokens" min:"0"`
	N         int         `yaml:"n" min:"1" max:"128"`
	Stop      stopStrings `yaml:"stop"`
	Stream    bool        `yaml:"stream"`
	Options   struct {
		IncludeUsage       bool `yaml:"include_usage"`
		IncludeObfuscation bool `yaml:"include_obfuscation"`
	} `yaml:"stream_options"`
	Seed *int64 `yaml:"seed"`

	Temperature       float64            `yaml:"temperature"`
	TopP              float64            `yaml:"top_p"`
	TopK              int                `yaml:"top_k" min:"-1"`
	MinP              float64            `yaml:"min_p"`
	RepetitionPenalty float64            `yaml:"repetition_penalty"`
	LogitBias         map[string]float64 `yaml:"logit_bias"`

	User             string  `yaml:"user"`
	PresencePenalty  float64 `yaml:"presence_penalty"`
	FrequencyPenalty float64 `yaml:"frequency_penalty"`
}

// completionRequest is the body of POST /v1/completions.
type completionRequest struct {
	sampling
	Prompt prompts `yaml:"prompt"`
	// AddSpecial comes from vLLM: read a BOS before a text; nil: as the tokenizer does.
	AddSpecial *bool  `yaml:"add_special_tokens"`
	BestOf     *int   `yaml:"best_of"`
	Echo       bool   `yaml:"echo"`
	LogProbs   *int   `yaml:"logprobs" min:"0" max:"5"`
	Suffix     string `yaml:"suffix"`
}

// Limits of one request.
const (
	defaultTokens = 16
	mostTexts     = 2048
	mostStops     = 16
)

// newSampling returns OpenAI's defaults.
func newSampling() sampling {
	return sampling{N: 1, Temperature: 1, TopP: 1, RepetitionPenalty: 1}
}

// check refuses what is wrong with a request for any model.
func (c *completionRequest) check() error {
	switch {
	case c.BestOf != nil && *c.BestOf != c.N:
		return invalid("best_of", "want none, or n: the likeliest of several is not chosen here, got %d", *c.BestOf)
	case c.Prompt.len()*c.N > mostTexts:
		return invalid("prompt", "want at most %d texts a request, got %d prompts with n = %d", mostTexts, c.Prompt.len(), c.N)
	case len(c.Stop) > mostStops:
		return invalid("stop", "want at most %d strings, got %d", mostStops, len(c.Stop))
	case c.TopP == 0: // 0 means no limit to package generate
		return invalid("top_p", "want above 0 and at most 1 (1: no limit), got 0")
	case c.RepetitionPenalty <= 0: // 0 means no penalty to package generate
		return invalid("repetition_penalty", "want above 0 (1: none), got %g", c.RepetitionPenalty)
	case c.Suffix != "":
		return invalid("suffix", "want none: texts are continued at their end alone")
	case c.PresencePenalty != 0:
		return invalid("presence_penalty", "want 0: this server has repetition_penalty alone")
	case c.FrequencyPenalty != 0:
		return invalid("frequency_penalty", "want 0: this server has repetition_penalty alone")
	}
	return nil
}

// texts returns the requests to the model's Generator, [prompt][sample] in one list: sample i
// of prompt p is at p n + i.
func (c *completionRequest) texts(m *Model) ([]generate.Request, error) {
	r := generate.Request{
		Echo: c.Echo, Stop: c.Stop, Slide: m.Slide,
		Temperature: c.Temperature, TopP: c.TopP, TopK: max(0, c.TopK), MinP: c.MinP, RepetitionPenalty: c.RepetitionPenalty,
		Seed: rand.Uint64(),
	}
	if c.Seed != nil {
		r.Seed = uint64(*c.Seed)
	}
	if c.LogProbs != nil {
		r.LogProbs = max(1, *c.LogProbs)
		r.PromptLogProbs = c.Echo
	}
	var err error
	if r.LogitBias, err = c.bias(m); err != nil {
		return nil, err
	}
	var texts []generate.Request
	for p := range c.Prompt.len() {
		if r.IDs, err = c.Prompt.ids(p, m, c.AddSpecial); err != nil {
			return nil, err
		}
		if r.Tokens, err = c.tokens(m, len(r.IDs)); err != nil {
			return nil, err
		}
		sample := r
		for i := range c.N {
			sample.Seed = generate.SampleSeed(r.Seed, i)
			if err := sample.Validate(); err != nil {
				return nil, err
			}
			texts = append(texts, sample)
		}
	}
	return texts, nil
}

// tokens returns how many tokens to generate after a prompt of the given length.
func (c *completionRequest) tokens(m *Model, prompt int) (int, error) {
	room := m.room(prompt)
	switch {
	case m.Slide && c.MaxTokens == nil:
		return defaultTokens, nil
	case m.Slide:
		return *c.MaxTokens, nil
	case c.MaxTokens == nil && room >= 0:
		return min(defaultTokens, room), nil
	}
	want := defaultTokens
	if c.MaxTokens != nil {
		want = *c.MaxTokens
	}
	if want > room {
		return 0, invalid("max_tokens", "this model's maximum context length is %d tokens, "+
			"however you requested %d in your prompt and %d for the completion: shorten either", m.Window, prompt, want).
			with(http.StatusBadRequest, "context_length_exceeded")
	}
	return want, nil
}

func (c *completionRequest) bias(m *Model) (map[int32]float64, error) {
	if len(c.LogitBias) == 0 {
		return nil, nil
	}
	bias := map[int32]float64{}
	for key, value := range c.LogitBias {
		id, err := strconv.Atoi(key)
		if err != nil || id < 0 || id >= m.Vocab || strconv.Itoa(id) != key { // otherwise "1", "+1" and "01" would be the same token
			return nil, invalid("logit_bias", "want token ids of 0 to %d as keys, got %q", m.Vocab-1, key)
		}
		if value < -100 || value > 100 {
			return nil, invalid("logit_bias", "token %d: want -100 to 100, got %g", id, value)
		}
		bias[int32(id)] = value
	}
	return bias, nil
}

// stopStrings accepts one string or a list.
type stopStrings []string

func (s *stopStrings) UnmarshalJSON(text []byte) error {
	var one string
	var several []*string
	switch {
	case string(text) == "null":
		return nil
	case json.Unmarshal(text, &one) == nil:
		*s = stopStrings{one}
		return nil
	case json.Unmarshal(text, &several) != nil:
		return invalid("stop", "want a string or an array of strings")
	}
	for _, each := range several {
		if each == nil {
			return invalid("stop", "want strings, got null among them")
		}
		*s = append(*s, *each)
	}
	return nil
}
