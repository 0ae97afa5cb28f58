package data

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/badsetting"
)

// Conversations reads prompts and the responses to them from JSON objects: the lines of .jsonl
// files, or the objects of .json files; see Options.Paths. Only the tokens of responses, and the
// token that ends each (EOS), are training targets and are scored. Corpus.Pack lays conversations
// into rows.
//
// Prompt and response are encoded separately, one after the other, without anything between them.
//
// An object may have a list of messages instead, each with a role and a content, which Options.Chat
// renders. The targets are then the turns of the role assistant, as the template writes them,
// without what it puts at the beginning of such a turn.
type Conversations struct {
	Template string `yaml:"template" json:"template,omitempty" added:"\"\"" help:"the folder of a model whose chat template writes objects with messages"`

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
		return nil, badsetting.Errorf("data.split", "want hash, hash/N or none for source %s, whose conversations stay whole, got %s", c.Name(), o.Split)
	}
	return &conversationSource{files, c, o.Chat}, o.checkPaths(c)
}

// conversationSource reads the conversations of files.
type conversationSource struct {
	*fileSource
	fields Conversations
	chat   func(context.Context, []Chat) ([]string, error)
}

// Chat is a list of messages to render; Generation says to end with what begins the model's turn.
type Chat struct {
	Messages   json.RawMessage
	Generation bool
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
	var late []chatDocument // from the first one with messages on, all
	use := func(number int, object map[string]json.RawMessage) (err error) {
		d := chatDocument{Document: Document{Name: fmt.Sprintf("%s:%d", f.Name, number), waiting: true}, number: number}
		if _, prompt := lookup(object, s.fields.Prompt); object["messages"] != nil && !prompt {
			d.chats, err = s.chats(object["messages"])
		} else {
			d.turns, err = s.fields.turns(object)
		}
		if err == nil && d.chats == nil && late == nil {
			return emit(d.Document)
		}
		late = append(late, d)
		return err
	}
	err := s.disk.open(ctx, f.Disk, func(in *bufio.Reader) error {
		if slices.Contains(lineExtensions(), textExtension(f.Name)) {
			return s.disk.eachObject(in, f.Disk, use)
		}
		return s.disk.objects(in, f.Disk, use)
	})
	for part := range slices.Chunk(late, chatsTogether) {
		if err == nil {
			err = s.render(ctx, f, part, emit)
		}
	}
	return err
}

// chatsTogether is how many documents are rendered at a time.
const chatsTogether = 256

// chatDocument is a document whose messages, if it has any, are still to be rendered. It has two
// chats for each turn of the assistant: the conversation before the turn, and the conversation with
// it.
type chatDocument struct {
	Document
	number int
	chats  []Chat
}

// chats returns the chats to render for a list of messages, two for each turn of the assistant.
func (s *conversationSource) chats(text json.RawMessage) (chats []Chat, err error) {
	var messages []json.RawMessage
	if err := json.Unmarshal(text, &messages); err != nil {
		return nil, errors.Errorf("field messages: want a list, got %.40s", text)
	}
	if s.chat == nil {
		return nil, errors.New("field messages: want data.source.template with it, the folder of a model with a chat template")
	}
	for i, message := range messages {
		var of struct{ Role string }
		if err := json.Unmarshal(message, &of); err != nil {
			return nil, errors.Errorf("field messages: want objects with role and content, got %.40s", message)
		}
		if of.Role != "assistant" {
			continue
		}
		before, err := json.Marshal(messages[:i])
		if err != nil {
			return nil, err
		}
		with, err := json.Marshal(messages[:i+1])
		if err != nil {
			return nil, err
		}
		chats = append(chats, Chat{before, true}, Chat{with, false})
	}
	if chats == nil {
		return nil, errors.New("field messages: want a message of the role assistant to learn, got none")
	}
	return chats, nil
}

// render renders the chats of a file's documents and emits these.
func (s *conversationSource) render(ctx context.Context, f File, documents []chatDocument, emit func(Document) error) error {
	var all []Chat
	for _, d := range documents {
		all = append(all, d.chats...)
	}
	texts, failed := s.chat(ctx, all)
	for _, d := range documents {
		if failed != nil && len(texts) < len(d.chats) {
			return errors.Wrapf(failed, "%s:%d", f.Disk, d.number)
		}
		done := "" // what the turns say
		for i, text := range texts[:len(d.chats)] {
			next, ok := strings.CutPrefix(text, done)
			if !ok {
				return errors.Errorf("%s:%d: field messages: want a template that continues a conversation, "+
					"got one that writes its messages in another way once more follow", f.Disk, d.number)
			}
			d.turns, done = append(d.turns, turn{text: next, answer: i%2 == 1, special: true}), text
		}
		texts = texts[len(d.chats):]
		if err := emit(d.Document); err != nil {
			return err
		}
	}
	return nil
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
	var bytes textBytes // of answers, which are scored
	for _, t := range d.turns {
		from := len(e.ids)
		if !t.special {
			if more := e.add(t.text); t.answer {
				bytes.all = append(bytes.all, more.all...)
			}
		} else if ids := ReadingSpecial(e.tokenizer).Encode(nil, t.text); from == 1 && len(ids) > 0 && ids[0] == e.tokenizer.BOS() {
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
	d.Tokens.task, d.Tokens.text = &taskTokens{vocab: vocab}, bytes
}
