package runconfig

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/generate/chat"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/settings"
	"github.com/residua-go/residua/models"
)

// LoadCorpus loads the corpus that the section describes, with threads workers (0: all cores),
// whose number does not affect the result.
func (d Data) LoadCorpus(ctx context.Context, threads int) (*data.Corpus, error) {
	o := d.options()
	o.Threads, o.Memory = threads, graph.AvailableMemory()
	return data.Load(ctx, o)
}

func (d Data) options() data.Options {
	var chats func(context.Context, []data.Chat) ([]string, error)
	if c, ok := d.Source.(data.Conversations); ok && c.Template != "" {
		chats = chatsOf(c.Template)
	}
	return data.Options{Chat: chats, Source: d.Source, Paths: d.Path, Tokenizer: d.Tokenizer, TokenizerName: d.TokenizerName, Split: d.Split,
		TextField: d.TextField}
}

// chatsOf returns what renders messages by the template of a folder. The time is always the same,
// so that a template that writes the date makes the same corpus on another day.
func chatsOf(folder string) func(context.Context, []data.Chat) ([]string, error) {
	return func(ctx context.Context, chats []data.Chat) ([]string, error) {
		template, err := chat.ReadTemplate(folder)
		if err == nil && template == nil {
			err = errors.Errorf("data.source.template: want a folder with a chat template, in tokenizer_config.json or chat_template.jinja, got %s", folder)
		}
		renderer, own := chat.Self()
		if err = cmp.Or(err, own); err != nil {
			return nil, err
		}
		var requests []chat.Request
		for _, c := range chats {
			requests = append(requests, chat.Request{Template: template.Text, Tokens: template.Tokens, Messages: c.Messages, Generation: c.Generation,
				Now: time.Date(2024, 7, 26, 0, 0, 0, 0, time.UTC)})
		}
		return renderer.RenderAll(ctx, requests...)
	}
}

// MarshalJSON writes the section with its source as in a config: the kind, or kind and keys.
func (d Data) MarshalJSON() ([]byte, error) {
	type plain Data
	d.Tokenizer = d.named()
	var source any = ""
	if d.Source != nil {
		entries, err := settings.Entries(d.Source)
		if err != nil {
			return nil, err
		}
		section := map[string]any{settings.KindKey: d.Source.Name()}
		for _, e := range entries {
			section[e.Key] = e.Value.Interface()
		}
		if source = section; len(entries) == 0 {
			source = d.Source.Name()
		}
	}
	return json.Marshal(struct {
		Source any `json:"source"`
		plain
	}{source, plain(d)})
}

// ReadData reads what MarshalJSON has written, for sources that the zoo has.
func ReadData(zoo models.Zoo, text []byte) (Data, error) {
	type plain Data
	var read struct {
		Source json.RawMessage `json:"source"`
		plain
	}
	if err := json.Unmarshal(text, &read); err != nil || len(read.Source) == 0 || string(read.Source) == `""` {
		return Data(read.plain), err
	}
	d := Data(read.plain)
	_, err := readerOf(zoo).Read(&d, "data", []byte(`{"source": `+string(read.Source)+`}`), nil)
	return d, err
}
