package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
)

// ChatPrompt is a conversation that a model is to continue.
type ChatPrompt struct {
	Messages, Tools json.RawMessage // as in the request; Tools may be nil
}

// chatRequest is the body of POST /v1/chat/completions.
type chatRequest struct {
	sampling
	Messages            rawJSON `yaml:"messages"`
	Tools               rawJSON `yaml:"tools"`
	MaxCompletionTokens *int    `yaml:"max_completion_tokens" min:"0"`
	LogProbs            bool    `yaml:"logprobs"`
}

// rawJSON keeps a field as it was sent.
type rawJSON json.RawMessage

func (r *rawJSON) UnmarshalJSON(text []byte) error {
	if string(text) != "null" {
		*r = bytes.Clone(text)
	}
	return nil
}

// chats answers POST /v1/chat/completions.
func (s *Server) chats(w http.ResponseWriter, r *http.Request) error {
	return s.complete(w, r, s.newChat)
}

// newChat reads and checks a request for a chat, and makes the completion of its prompt.
func (s *Server) newChat(w http.ResponseWriter, r *http.Request) (*completion, error) {
	request := chatRequest{sampling: newSampling()}
	if err := s.decode(w, r, &request); err != nil {
		return nil, err
	}
	if request.MaxCompletionTokens != nil {
		request.MaxTokens = request.MaxCompletionTokens
	}
	c := newCompletion("chatcmpl-")
	c.chat, c.request.sampling = true, request.sampling
	var err error
	if c.model, err = s.model(request.Model); err != nil {
		return nil, err
	}
	switch {
	case c.model.Chat == nil:
		return nil, invalid("model", "%s has no chat template: it continues texts, at /v1/completions", c.model.Name).with(http.StatusNotFound, "no_chat_template")
	case request.Messages == nil:
		return nil, invalid("messages", `want a list of messages, as [{"role": "user", "content": "..."}], got none`)
	case request.LogProbs:
		return nil, invalid("logprobs", "want none: /v1/completions has them")
	}
	ids, err := c.model.Chat(r.Context(), ChatPrompt{json.RawMessage(request.Messages), json.RawMessage(request.Tools)})
	if err != nil {
		if r.Context().Err() != nil {
			return nil, err
		}
		return nil, invalid("messages", "%v", err)
	}
	c.request.Prompt.lists = [][]int32{ids}
	if room := c.model.room(len(ids)); c.request.MaxTokens == nil && !c.model.Slide && room > 0 {
		c.request.MaxTokens = &room // to the end of the window
	}
	return c, s.finish(c)
}

// chatResponse is OpenAI's chat completion object or, streamed, a chunk of one.
type chatResponse struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []chatChoice `json:"choices"`
	Usage   *usage       `json:"usage,omitempty"`
}

type chatChoice struct {
	Index        int          `json:"index"`
	Message      *chatMessage `json:"message,omitempty"`
	Delta        *chatMessage `json:"delta,omitempty"`
	LogProbs     *logProbs    `json:"logprobs"`
	FinishReason *string      `json:"finish_reason"`
}

type chatMessage struct {
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`
}

// chatObject returns the choices of a chat as one object.
func (c *completion) chatObject(choices []choice, used *usage) chatResponse {
	r := chatResponse{ID: c.id, Object: "chat.completion", Created: c.created, Model: c.model.Name, Choices: []chatChoice{}, Usage: used}
	for _, part := range choices {
		r.Choices = append(r.Choices, chatChoice{Index: part.Index, Message: &chatMessage{"assistant", &part.Text}, FinishReason: part.FinishReason})
	}
	return r
}

// chunk returns a streamed part of a chat. The first part of a choice names the role, and the last
// has no content.
func (c *completion) chunk(choices []choice, used *usage) chatResponse {
	r := chatResponse{ID: c.id, Object: "chat.completion.chunk", Created: c.created, Model: c.model.Name, Choices: []chatChoice{}, Usage: used}
	for _, part := range choices {
		delta := chatMessage{}
		if part.FinishReason == nil || part.Text != "" {
			delta.Content = &part.Text
		}
		if part.first {
			delta.Role = "assistant"
		}
		r.Choices = append(r.Choices, chatChoice{Index: part.Index, Delta: &delta, FinishReason: part.FinishReason})
	}
	return r
}

// object returns choices in the form of the request's answer.
func (c *completion) object(choices []choice, used *usage) any {
	switch {
	case !c.chat:
		return completionResponse{ID: c.id, Object: "text_completion", Created: c.created, Model: c.model.Name, Choices: choices, Usage: used}
	case c.request.Stream:
		return c.chunk(choices, used)
	}
	return c.chatObject(choices, used)
}

// Chat renders and encodes conversations; see Model.
type Chat func(ctx context.Context, c ChatPrompt) ([]int32, error)
