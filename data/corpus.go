// Package data turns text into what training reads: sources of documents, the
// tokenizers, token shards on disk, the corpus in memory with its training and
// validation streams, and batches of windows from them.
//
// Everything here depends on the options and the text alone: the same corpus
// gives the same streams, the same batches and the same fingerprint on every
// machine and with any number of threads.
package data

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/pkg/errors"
)

// Stream is a sequence of documents, each of them BOS and the ids of its text. A stream cut from
// the end of another (Options.Split tail) may begin inside a document.
type Stream struct {
	Tokens    Tokens
	Documents int   // documents that begin in the stream
	TextBytes int64 // bytes of the tokens' text, without BOS
}

// Corpus is a corpus in memory.
type Corpus struct {
	Tokenizer   Tokenizer
	Train, Val  Stream
	Fingerprint string   // sha256, in hex, of the tokenizer's name and both streams
	Notes       []string // what was done that the options do not say, one line each, to show to the user

	// Divided counts the conversations, after Pack, in which BOS ends a turn before the last. Where
	// a token sees only its own document, a later turn does not see the turns before it.
	Divided int

	conversations [2][]int // lengths of those of Train and Val, before Pack

	split   splitRule
	options Options
	whole   Tokens // all tokens, if the end of a single document was held out
	sniffed bool   // some files were taken for text because of their content
}

// Load reads a corpus. Documents are ordered by the names of their files and, inside a file, by
// their position; Options.Split divides them into the two streams. In memory they take 2 bytes a
// token (4 if the vocabulary exceeds 65,536), and twice as much during loading.
//
// Errors name the file, and the line if there is one. A corpus without any text is an error; Check
// and CheckValidation tell whether a corpus is large enough.
func Load(ctx context.Context, o Options) (*Corpus, error) {
	split, err := parseSplit(o.Split)
	if err != nil {
		return nil, err
	}
	tokenizer, src, err := open(o)
	if err != nil {
		return nil, err
	}
	var trainDocuments, valDocuments []Tokens
	blanks := 0
	err = eachDocument(ctx, src, tokenizer, o.Threads, func(d Document) error {
		if d.blank {
			blanks++
		} else if split.holdsOut(d) {
			valDocuments = append(valDocuments, d.Tokens)
		} else {
			trainDocuments = append(trainDocuments, d.Tokens)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	c := &Corpus{Tokenizer: tokenizer, split: split, options: o}
	documents := len(trainDocuments) + len(valDocuments)
	switch {
	case documents == 0:
		return nil, errEmpty(o)
	case c.isConversations():
		c.conversations = [2][]int{lengths(trainDocuments), lengths(valDocuments)}
		c.setStreams(concat(trainDocuments...), concat(valDocuments...))
	case documents == 1 && split.kind == splitHash && !o.former:
		c.holdOutTail(append(trainDocuments, valDocuments...)[0])
	default:
		train := concat(trainDocuments...)
		cut := split.cut(train.Len())
		c.setStreams(train.Slice(0, cut), concat(append(valDocuments, train.From(cut))...))
	}
	if s, ok := src.(interface{ notes() []string }); ok {
		c.Notes = append(c.Notes, s.notes()...)
	}
	if s, ok := src.(*fileSource); ok {
		c.sniffed = s.sniffed
	}
	if blanks > 0 {
		c.Notes = append(c.Notes, "data.path: "+counted(blanks, "record", "records")+" without a text left out")
	}
	return c, nil
}

// lengths returns the numbers of tokens of documents.
func lengths(documents []Tokens) []int {
	all := make([]int, len(documents))
	for i, d := range documents {
		all[i] = d.Len()
	}
	return all
}

func (c *Corpus) setStreams(train, val Tokens) {
	c.Train, c.Val = newStream(c.Tokenizer, train), newStream(c.Tokenizer, val)
	c.Fingerprint = fingerprint(cmp.Or(c.options.TokenizerName, c.Tokenizer.Name()), train, val)
}

// open returns the tokenizer and the source that the options name.
func open(o Options) (Tokenizer, Reader, error) {
	from := cmp.Or[Source](o.Source, Goroot{})
	tokenizer, err := TokenizerOf(from, cmp.Or(o.Tokenizer, tokenizerBytes))
	if err != nil {
		return nil, nil, err
	}
	src, err := from.Open(o, tokenizer)
	return tokenizer, src, err
}

func errEmpty(o Options) error {
	return errors.Errorf("data.source %s: empty corpus: no text in any file of data.path [%s]", cmp.Or[Source](o.Source, Goroot{}).Name(),
		strings.Join(o.Paths, ", "))
}

func newStream(t Tokenizer, tokens Tokens) Stream {
	return Stream{Tokens: tokens, Documents: tokens.count(t.BOS()), TextBytes: TextBytes(t, tokens)}
}

// Check returns an error if the training stream is shorter than one batch with its targets: batch *
// seq + 1 tokens.
func (c *Corpus) Check(batch, seq int) error {
	if c.Train.Tokens.packed() {
		batch = 1 // rows come again
	}
	need := batch*seq + 1
	if have := c.Train.Tokens.Len(); have < need {
		return errors.Errorf("data: training split: want at least %d tokens (batch %d x seq %d + 1), got %d in %d documents: "+
			"add text to data.path, or lower train.batch or model.seq", need, batch, seq, have, c.Train.Documents)
	}
	return nil
}

// CheckValidation returns an error if the validation stream is shorter than one window with its
// targets: seq + 1 tokens. Only a run that evaluates needs a window.
func (c *Corpus) CheckValidation(seq int) error {
	need, have := seq+1, c.Val.Tokens.Len()
	if have >= need {
		return nil
	}
	var why string
	switch {
	case c.split.kind == splitNone:
		why = "data.split is none: set it to hash or tail"
	case c.split.kind == splitTail:
		why = fmt.Sprintf("data.split holds out 1/%d of %d tokens: add text, or set data.split: tail/2", c.split.parts, c.Train.Tokens.Len()+have)
	case c.Train.Tokens.task != nil:
		why = fmt.Sprintf("data.split holds out about one example in %d, where equal examples count once: make more of them, or a task with more different ones",
			c.split.parts)
	default:
		why = fmt.Sprintf("data.split holds out about one document in %d by the hash of its name and the corpus has %d: set data.split: tail to hold out its end",
			c.split.parts, c.Train.Documents+c.Val.Documents)
	}
	return errors.Errorf("data: validation split: want at least %d tokens (seq %d + 1), got %d in %d documents; %s",
		need, seq, have, c.Val.Documents, why)
}
