package data

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/setting"
)

// Conversations reads prompts and the responses to them from JSON objects: the lines of .jsonl
// files, or the objects of .json files; see Options.Paths. Only the tokens of responses, and the
// token that ends each (EOS), are training targets and are scored. Corpus.Pack lays conversations
// into rows.
//
// Prompt and response are encoded separately, one after the other, without anything between them.
type Conversations struct {
	Prompt   string `yaml:"prompt" json:"prompt,omitempty" help:"the field that holds the prompt; a.b: field b inside a"`
	Response string `yaml:"response" json:"response,omitempty" help:"the field that holds the response, the text to learn"`
}

// DefaultConversations reads the fields prompt and response.
func DefaultConversations() Conversations { return Conversations{"prompt", "response"} }

// Name returns "conversations".
func (Conversations) Name() string { return "conversations" }

// Open requires paths.
func (c Conversations) Open(o Options, _ Tokenizer) (Reader, error) {
	files := &fileSource{paths: o.Paths, field: c.Response, disk: diskReader{memory: o.Memory, longest: o.longest, read: o.read}}
	if split, err := parseSplit(o.Split); err == nil && split.kind == splitTail {
		return nil, setting.Errorf("data.split", "want hash, hash/N or none for source %s, whose conversations stay whole, got %s", c.Name(), o.Split)
	}
	return &conversationSource{files, c}, o.checkPaths(c)
}

// conversationSource reads the conversations of files.
type conversationSource struct {
	*fileSource
	fields Conversations
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
		turns, err := s.fields.turns(object)
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

// turn is a part of a conversation.
type turn struct {
	text   string
	answer bool // what a model is to say
}

// encodeTurns encodes a conversation, and drops its text. Answers are stored as ids plus the
// vocabulary's size, and end with EOS.
func (e *Encoder) encodeTurns(d *Document) {
	vocab := int32(e.tokenizer.Vocab())
	e.ids = append(e.ids[:0], e.tokenizer.BOS())
	for _, t := range d.turns {
		from := len(e.ids)
		e.ids = e.tokenizer.Encode(e.ids, t.text)
		if t.answer {
			e.ids = append(e.ids, EOS(e.tokenizer)[0])
			for i := range e.ids[from:] {
				e.ids[from+i] += vocab
			}
		}
	}
	d.Tokens, d.turns, d.waiting = NewTokens(2*int(vocab), e.ids), nil, false
	d.Tokens.task = &taskTokens{vocab: vocab}
}
