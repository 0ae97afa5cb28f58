package serve

import (
	"net/http"
	"strings"
)

// modelCard is OpenAI's description of a model, with max_model_len from vLLM.
type modelCard struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
	Window  int    `json:"max_model_len"`
}

func (m *Model) card() modelCard {
	return modelCard{ID: m.Name, Object: "model", Created: m.Created.Unix(), OwnedBy: "residua", Window: m.Window}
}

// model returns the model with a name; "" is the first.
func (s *Server) model(name string) (*Model, error) {
	var names []string
	for i := range s.models {
		if m := &s.models[i]; name == "" || m.Name == name {
			return m, nil
		}
		names = append(names, s.models[i].Name)
	}
	return nil, invalid("model", "want one of %s, got %q", strings.Join(names, ", "), name).with(http.StatusNotFound, "model_not_found")
}

// listModels answers GET /v1/models.
func (s *Server) listModels(w http.ResponseWriter, _ *http.Request) error {
	cards := make([]modelCard, len(s.models))
	for i := range s.models {
		cards[i] = s.models[i].card()
	}
	return writeJSON(w, map[string]any{"object": "list", "data": cards})
}

// showModel answers GET /v1/models/NAME.
func (s *Server) showModel(w http.ResponseWriter, r *http.Request) error {
	m, err := s.model(r.PathValue("name"))
	if err != nil {
		return err
	}
	return writeJSON(w, m.card())
}
