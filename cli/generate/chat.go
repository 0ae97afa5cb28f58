package generate

import (
	"context"
	"encoding/json"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/generate/chat"
	"github.com/residua-go/residua/pretrained"
)

// asChats replaces the texts of prompts by the ids of conversations in which a user says them.
func asChats(ctx context.Context, p *pretrained.Model, tokenizer data.Tokenizer, prompts []source) error {
	template, err := p.ChatTemplate()
	if err != nil {
		return err
	}
	if template == nil || tokenizer == nil {
		return errors.Errorf("want a model with a tokenizer and a chat template, in tokenizer_config.json or chat_template.jinja, got %s", p.Source.ModelPath)
	}
	renderer, err := chat.Self()
	if err != nil {
		return err
	}
	for i := range prompts {
		messages, err := json.Marshal([]map[string]string{{"role": "user", "content": prompts[i].text}})
		if err != nil {
			return err
		}
		ids, err := renderer.Prompt(ctx, chat.Request{Template: template.Text, Tokens: template.Tokens, Messages: messages, Generation: true, Now: time.Now()},
			tokenizer)
		if err != nil {
			return err
		}
		prompts[i] = source{ids: ids}
	}
	return nil
}
