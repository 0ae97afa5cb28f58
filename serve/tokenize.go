package serve

import (
	"net/http"

	"github.com/residua-go/residua/data"
)

// tokenizeRequest is the body of POST /tokenize.
type tokenizeRequest struct {
	Model      string `yaml:"model"`
	Prompt     string `yaml:"prompt"`
	AddSpecial *bool  `yaml:"add_special_tokens"` // put a BOS before the text, as before a completion's prompt; nil: true
}

// tokenize answers POST /tokenize. A prompt that consists only of BOS's name encodes to BOS, so
// that clients can learn its id.
func (s *Server) tokenize(w http.ResponseWriter, r *http.Request) error {
	var request tokenizeRequest
	if err := s.decode(w, r, &request); err != nil {
		return err
	}
	m, t, err := s.tokenizer(request.Model)
	if err != nil {
		return err
	}
	release, err := s.reserve(float64(len(request.Prompt)) * tokenBytes)
	if err != nil {
		return err
	}
	defer release()
	name := request.Prompt == bosName
	if name {
		request.Prompt = ""
	}
	ids := data.EncodePrompt(t, request.Prompt, request.AddSpecial)
	if name {
		ids = append(ids, t.BOS())
	}
	return writeJSON(w, map[string]any{"count": len(ids), "max_model_len": m.Window, "tokens": ids})
}

// detokenize answers POST /detokenize.
func (s *Server) detokenize(w http.ResponseWriter, r *http.Request) error {
	var request struct {
		Model  string  `yaml:"model"`
		Tokens []int32 `yaml:"tokens"`
	}
	if err := s.decode(w, r, &request); err != nil {
		return err
	}
	m, t, err := s.tokenizer(request.Model)
	if err != nil {
		return err
	}
	if err := data.CheckIDs(request.Tokens, m.Vocab); err != nil {
		return invalid("tokens", "%v", err)
	}
	release, err := s.reserve(float64(len(request.Tokens)) * (promptBytes + 3*spellings*float64(m.longest)))
	if err != nil {
		return err
	}
	defer release()
	return writeJSON(w, map[string]string{"prompt": t.Decode(request.Tokens)})
}

// tokenizerInfo answers GET /tokenizer_info for the first model.
func (s *Server) tokenizerInfo(w http.ResponseWriter, _ *http.Request) error {
	m, t, err := s.tokenizer("")
	if err != nil {
		return err
	}
	return writeJSON(w, map[string]any{
		"tokenizer_class": t.Name(), "vocab_size": t.Vocab(), "model_max_length": m.Window,
		"bos_token": bosName, "bos_token_id": t.BOS(), "eos_token": bosName, "eos_token_id": t.BOS(),
	})
}

func (s *Server) tokenizer(model string) (*Model, data.Tokenizer, error) {
	m, err := s.model(model)
	if err != nil {
		return nil, nil, err
	}
	if m.Tokenizer == nil {
		return nil, nil, invalid("model", "want one with a tokenizer: %s has none", m.Name)
	}
	return m, m.Tokenizer, nil
}
