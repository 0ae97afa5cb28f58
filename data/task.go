package data

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/residua-go/residua/internal/badsetting"
)

// Task is a Tokenized source of synthetic examples; each example is a document. Only the
// answers in an example are training targets and are scored. Training rows begin with an
// example.
type Task interface {
	Tokenized
	Examples() Examples
}

// Examples describes the examples of a Task.
type Examples struct {
	Length    int     // tokens of each example, BOS included
	Chance    float64 // accuracy of guessing
	Separator int     // with the mask of documents, tokens after this id see it and nothing before it; 0: there is none
	Blank     int     // the id that replaces an answer in the inputs; 0: the answer itself is the input
}

// Generated holds the settings that all tasks have.
type Generated struct {
	Number int    `yaml:"examples" min:"100" max:"100000000" help:"number of examples, those of validation included"`
	Seed   uint64 `yaml:"seed" help:"seed of the examples"`
}

// taskTokens says how the tokens of a Task are stored: an answer as its id plus vocab.
type taskTokens struct {
	Examples
	vocab  int32
	packed bool // an example is a row of conversations
}

// input returns the input id for a stored token.
func (t *taskTokens) input(stored int32) int32 {
	switch {
	case stored < t.vocab:
		return stored
	case t.Blank > 0:
		return int32(t.Blank)
	}
	return stored - t.vocab
}

// target returns the id to predict for a stored token, or ignoredTarget if it is no answer.
func (t *taskTokens) target(stored int32) int32 { return max(stored-t.vocab, ignoredTarget) }

// taskReader makes a task's examples.
type taskReader struct {
	Generated
	form taskTokens
	bos  int32
	// fill generates the tokens after BOS. It adds the vocabulary's size to answers.
	fill func(r *rand.Rand, row []int32)
}

// reader returns the reader of a task's examples.
func (g Generated) reader(task Task, o Options, fill func(r *rand.Rand, row []int32)) (Reader, error) {
	if len(o.Paths) > 0 {
		return nil, badsetting.Errorf("data.path", "want none for source %s, got %v", task.Name(), o.Paths)
	}
	if split, err := parseSplit(o.Split); err == nil && split.kind == splitTail {
		return nil, badsetting.Errorf("data.split", "want hash or hash/N for source %s, which keeps equal examples on one side, got %s", task.Name(), o.Split)
	}
	t := task.Tokenizer()
	return taskReader{g, taskTokens{Examples: task.Examples(), vocab: int32(t.Vocab())}, t.BOS(), fill}, nil
}

// examplesPerFile is how many examples one goroutine makes at a time.
const examplesPerFile = 1024

func (t taskReader) Files(context.Context) ([]File, error) {
	var files []File
	for first := 0; first < t.Number; first += examplesPerFile {
		files = append(files, File{Name: strconv.Itoa(first)})
	}
	return files, nil
}

// Read generates the examples. It names each by a hash of its tokens, so that the split keeps
// equal examples on the same side.
func (t taskReader) Read(ctx context.Context, f File, _ *Encoder, emit func(Document) error) error {
	first, err := strconv.Atoi(f.Name)
	row := make([]int32, t.form.Length)
	for i := first; err == nil && i < min(first+examplesPerFile, t.Number); i++ {
		row[0] = t.bos
		t.fill(rand.New(rand.NewPCG(t.Seed, uint64(i))), row[1:])
		tokens := NewTokens(2*int(t.form.vocab), row)
		tokens.task = &t.form
		h := sha256.New()
		_ = tokens.write(h) // a hash never fails
		if err = emit(Document{Name: fmt.Sprintf("%x", h.Sum(nil)), Tokens: tokens}); err == nil {
			err = ctx.Err()
		}
	}
	return err
}

// taskWords is the tokenizer of a task. Its ids are words; the last one is BOS.
type taskWords struct {
	name string
	all  []string
}

// numbered returns the words prefix0, prefix1, ...
func numbered(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = prefix + strconv.Itoa(i)
	}
	return all
}

func (w taskWords) Name() string { return w.name }
func (w taskWords) Vocab() int   { return len(w.all) }
func (w taskWords) BOS() int32   { return int32(len(w.all) - 1) }

// Encode skips text that is not a word of the task.
func (w taskWords) Encode(dst []int32, text string) []int32 {
	for _, word := range strings.Fields(text) {
		if id := slices.Index(w.all, word); id >= 0 {
			dst = append(dst, int32(id))
		}
	}
	return dst
}

func (w taskWords) Decode(ids []int32) string {
	text := ""
	for _, id := range ids {
		switch {
		case id < 0 || id > w.BOS():
			text += string(utf8.RuneError)
		case id < w.BOS():
			text += w.all[id] + " "
		}
	}
	return text
}
