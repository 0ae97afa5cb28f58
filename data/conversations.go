package data

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/setting"
)

// Conversations reads prompts and the responses to them from JSON objects: the lines of .jsonl
// files, or the objects of .json files; see Options.Paths. Only the tokens of responses, and the
// token that ends each (EOS), are training targets and are scored. Corpus.Pack lays conversations
// into rows.
//
// Prompt and response are encoded separately, one after the other, without anything between them.
//
// An object may have a list of messages instead, each with a role and a content, which Options.Chat
// renders. The targets are then what the template writes for the turns of the role assistant, after
// what it begins such a turn with, to the end of the turn.
type Conversations struct {
	Template string `yaml:"template" json:"template,omitempty" added:"\"\"" help:"the folder of a model with a chat template, for objects with messages instead of prompt and response"`

	Prompt   string `yaml:"prompt" json:"prompt,omitempty" help:"the field that holds the prompt; a.b: field b inside a"`
	Response string `yaml:"response" json:"response,omitempty" help:"the field that holds the response, the text to learn"`
}

// DefaultConversations reads the fields prompt and response.
func DefaultConversations() Conversations {
	return Conversations{Prompt: "prompt", Response: "response"}
}

// Name returns "conversations".
func (Conversations) Name() string { return "conversations" }

// Open requires paths.
func (c Conversations) Open(o Options, _ Tokenizer) (Reader, error) {
	files := &fileSource{paths: o.Paths, field: c.Response, disk: diskReader{memory: o.Memory, longest: o.longest, read: o.read}}
	if split, err := parseSplit(o.Split); err == nil && split.kind == splitTail {
		return nil, setting.Errorf("data.split", "want hash, hash/N or none for source %s, whose conversations stay whole, got %s", c.Name(), o.Split)
	}
	return &conversationSource{files, c, o.Chat}, o.checkPaths(c)
}

// conversationSource reads the conversations of files.
type conversationSource struct {
	*fileSource
	fields Conversations
	chat   func(context.Context, json.RawMessage, bool) (string, error)
}

// Files lists the files of JSON objects.
func (s *conversationSource) Files(ctx context.Context) ([]File, error) {
	files, err := expandPaths(ctx, Conversations{}.Name(), s.paths, s.folder, &s.walked)
	return slices.DeleteFunc(files, func(f File) bool { return !f.named && !isJSON(f.Name) }), err
}

// isJSON tells whether a file's name says that it holds JSON objects.
func isJSON(name string) bool {
	return slices.Contains(append(lineExtensions(), ".json"), textExtension(name))
}

func (s *conversationSource) Read(ctx context.Context, f File, _ *Encoder, emit func(Document) error) error {
	use := func(number int, object map[string]json.RawMessage) error {
		messages, ok := object["messages"]
		turns, err := []turn(nil), error(nil)
		if _, prompt := lookup(object, s.fields.Prompt); ok && !prompt {
			turns, err = s.rendered(ctx, messages)
		} else {
			turns, err = s.fields.turns(object)
		}
		if err != nil {
			return err
		}
		return emit(Document{Name: fmt.Sprintf("%s:%d", f.Name, number), turns: turns, waiting: true})
	}
	return s.disk.open(ctx, f.Disk, func(in *bufio.Reader) error {
		if slices.Contains(lineExtensions(), textExtension(f.Name)) {
			return s.disk.eachObject(in, f.Disk, use)
		}
		return s.disk.objects(in, f.Disk, use)
	})
}

// turns returns a prompt and its response.
func (c Conversations) turns(object map[string]json.RawMessage) ([]turn, error) {
	var turns []turn
	for _, field := range []string{c.Prompt, c.Response} {
		value, ok := lookup(object, field)
		if !ok {
			return nil, errors.Errorf("want the fields %q and %q, got an object with the fields %q: name them in data.source.prompt and data.source.response",
				c.Prompt, c.Response, fieldNames(object, ""))
		}
		text, err := jsonText(value)
		if err != nil {
			return nil, errors.Errorf("field %q: want a string, got %.40s", field, value)
		}
		turns = append(turns, turn{text: text, answer: field == c.Response})
	}
	if turns[1].text == "" {
		return nil, errors.Errorf("field %q: want a response to learn, got an empty one", c.Response)
	}
	return turns, nil
}

// rendered returns the text of messages, in parts of which some are answers.
func (s *conversationSource) rendered(ctx context.Context, text json.RawMessage) (turns []turn, err error) {
	var messages []json.RawMessage
	if err := json.Unmarshal(text, &messages); err != nil {
		return nil, errors.Errorf("field messages: want a list, got %.40s", text)
	}
	if s.chat == nil {
		return nil, errors.New("field messages: want data.source.template with it, the folder of a model with a chat template")
	}
	render := func(n int, generation bool) (string, error) {
		list, err := json.Marshal(messages[:n])
		if err != nil {
			return "", err
		}
		return s.chat(ctx, list, generation)
	}
	done := "" // what the turns say
	add := func(n int, generation, answer bool) error {
		all, err := render(n, generation)
		if err != nil {
			return err
		}
		next, ok := strings.CutPrefix(all, done)
		if !ok {
			return errors.Errorf("field messages: want a template that continues a conversation, got one that writes its first %d messages in another way once more follow", n-1)
		}
		turns, done = append(turns, turn{text: next, answer: answer, special: true}), all
		return nil
	}
	for i, message := range messages {
		var of struct{ Role string }
		if err := json.Unmarshal(message, &of); err != nil {
			return nil, errors.Errorf("field messages: want objects with role and content, got %.40s", message)
		}
		if of.Role != "assistant" {
			continue
		}
		if err := add(i, true, false); err != nil {
			return nil, err
		}
		if err := add(i+1, false, true); err != nil {
			return nil, err
		}
	}
	if turns == nil {
		return nil, errors.New("field messages: want a message of the role assistant to learn, got none")
	}
	return turns, nil
}

// turn is a part of a conversation.
type turn struct {
	text    string
	answer  bool // what a model is to say
	special bool // names of special tokens in the text are the tokens, those that end it included
}

// encodeTurns encodes a conversation, and drops its text. Answers are stored as ids plus the
// vocabulary's size, and end with EOS.
func (e *Encoder) encodeTurns(d *Document) {
	vocab := int32(e.tokenizer.Vocab())
	e.ids = append(e.ids[:0], e.tokenizer.BOS())
	for _, t := range d.turns {
		from := len(e.ids)
		if !t.special {
			e.ids = e.tokenizer.Encode(e.ids, t.text)
		} else if ids := EncodeSpecial(e.tokenizer, t.text); from == 1 && len(ids) > 0 && ids[0] == e.tokenizer.BOS() {
			e.ids = append(e.ids[:0], ids...)
		} else {
			e.ids = append(e.ids, ids...)
		}
		if t.answer && !t.special {
			e.ids = append(e.ids, EOS(e.tokenizer)[0])
		}
		if t.answer {
			for i := range e.ids[from:] {
				e.ids[from+i] += vocab
			}
		}
	}
	d.Tokens, d.turns, d.waiting = NewTokens(2*int(vocab), e.ids), nil, false
	d.Tokens.task = &taskTokens{vocab: vocab}
}
