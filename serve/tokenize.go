package serve

import (
	"net/http"

	"github.com/residua-go/residua/data"
)

// tokenizeRequest is the body of POST /tokenize.
type tokenizeRequest struct {
	Model      string `yaml:"model"`
	Prompt     string `yaml:"prompt"`
	AddSpecial *bool  `yaml:"add_special_tokens"` // put a BOS before the text, as before a completion's prompt; nil: as the tokenizer does
}

// tokenize answers POST /tokenize. A prompt that consists only of the name of BOS or EOS encodes to
// that token, so that clients can learn its id.
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
	var ids []int32
	if id, named := specialOf(t, request.Prompt); named {
		if data.ReadsBOS(t, request.Prompt, request.AddSpecial) {
			ids = append(ids, t.BOS())
		}
		ids = append(ids, id)
	} else {
		ids = data.EncodePrompt(t, request.Prompt, request.AddSpecial)
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
	return writeJSON(w, map[string]string{"prompt": data.DecodeText(t, request.Tokens)})
}

// tokenizerInfo answers GET /tokenizer_info for the first model.
func (s *Server) tokenizerInfo(w http.ResponseWriter, _ *http.Request) error {
	m, t, err := s.tokenizer("")
	if err != nil {
		return err
	}
	info := map[string]any{
		"tokenizer_class": t.Name(), "vocab_size": t.Vocab(), "model_max_length": m.Window,
		"bos_token": data.SpecialName(t, t.BOS()), "bos_token_id": t.BOS(), "eos_token": nil, "eos_token_id": nil,
	}
	if eos := data.EOS(t); len(eos) > 0 {
		info["eos_token"], info["eos_token_id"] = data.SpecialName(t, eos[0]), eos[0]
	}
	return writeJSON(w, info)
}

// specialOf returns the id of BOS or of an EOS with the given name.
func specialOf(t data.Tokenizer, name string) (int32, bool) {
	for _, id := range append([]int32{t.BOS()}, data.EOS(t)...) {
		if name != "" && data.SpecialName(t, id) == name {
			return id, true
		}
	}
	return 0, false
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
