package tasks

import (
	"context"
	"math/rand/v2"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/layers"
)

// Options say how to read a task and how to ask about its documents. The zero value asks about
// all documents, without examples.
type Options struct {
	// the name of one of Formats; "": multiple_choice
	Format    string `yaml:"format" group:"A task instead of text" help:"the file holds the task <NAME>: hellaswag, arc, piqa, winogrande, lambada, openbookqa"`
	Shots     int    `yaml:"shots" group:"A task instead of text" help:"put <N> solved documents before each"`
	ShotsFrom string `yaml:"shots_from" group:"A task instead of text" help:"take solved documents from <FILE.jsonl>; without, from the task's other documents"`
	Seed      uint64 // seed for choosing examples
	Limit     int    `yaml:"limit" group:"A task instead of text" help:"score the first <N> documents alone; 0: all"`
	BOS       bool   `yaml:"bos" group:"A task instead of text" help:"begin each context with the token that begins documents"` // as lm-eval's add_bos_token does
	Resamples int    // number of resamples for the bootstrap; 0: 1000
}

// Task holds a task's documents, with the examples before each, ready to be scored.
type Task struct {
	file      string
	format    Format
	options   Options
	documents []Document
}

// Load reads a task file, decompressing it if its name ends in .gz or .zst. Errors:
// *layers.SettingError for an option; an error about a line begins with file:line.
func Load(ctx context.Context, file string, o Options) (*Task, error) {
	t, err := newTask(file, o)
	if err != nil {
		return nil, err
	}
	if t.documents, err = read(ctx, file, t.format); err != nil {
		return nil, err
	}
	if err := t.addShots(ctx); err != nil {
		return nil, err
	}
	if o.Limit > 0 {
		t.documents = t.documents[:min(o.Limit, len(t.documents))]
	}
	return t, nil
}

// newTask checks the options and returns a task without documents.
func newTask(file string, o Options) (*Task, error) {
	if o.Format == "" {
		o.Format = Formats()[0].Name
	}
	format, err := formatNamed(o.Format)
	switch {
	case err != nil:
		return nil, layers.Setting("format", "%v", err)
	case o.Shots < 0:
		return nil, layers.Setting("shots", "want >= 0, got %d", o.Shots)
	case o.Shots > 0 && format.kind == rolling:
		return nil, layers.Setting("shots", "want 0 for %s, which scores whole pages, got %d", format.Name, o.Shots)
	case o.ShotsFrom != "" && o.Shots == 0:
		return nil, layers.Setting("shots-from", "want shots with it, got none")
	case o.Limit < 0:
		return nil, layers.Setting("limit", "want >= 0, got %d", o.Limit)
	case o.Resamples < 0:
		return nil, layers.Setting("bootstrap", "want >= 0, got %d", o.Resamples)
	}
	return &Task{file: file, format: format, options: o}, nil
}

// read reads the documents of a file.
func read(ctx context.Context, file string, f Format) ([]Document, error) {
	var documents []Document
	err := data.EachLine(ctx, file, func(number int, line []byte) error {
		o := newObject(line)
		var d Document
		if o.err == nil {
			d = f.read(o)
		}
		d.Line = number
		documents = append(documents, d)
		return o.err
	})
	if err == nil && len(documents) == 0 {
		err = errors.Errorf("%s: want at least one document, a JSON object a line, got none", file)
	}
	return documents, err
}

// Documents returns the documents as they are asked, with their examples.
func (t *Task) Documents() []Document { return t.documents }

// addShots puts solved documents before each document, drawn anew for each, as lm-eval does (but
// with another random generator).
func (t *Task) addShots(ctx context.Context) error {
	if t.options.Shots == 0 {
		return nil
	}
	pool, own, where := t.documents, true, t.file
	if from := t.options.ShotsFrom; from != "" {
		var err error
		if pool, err = read(ctx, from, t.format); err != nil {
			return err
		}
		own, where = false, from
	}
	most := len(pool)
	if own {
		most--
	}
	if t.options.Shots > most {
		return layers.Setting("shots", "want at most %d, the other documents of %s, got %d", most, where, t.options.Shots)
	}
	asked := make([]Document, len(t.documents))
	for i, d := range t.documents {
		skip := -1
		if own {
			skip = i
		}
		asked[i] = d.before(examples(pool, t.options.Shots, skip, rand.New(rand.NewPCG(t.options.Seed, uint64(i)))))
	}
	t.documents = asked
	return nil
}

// examples returns the text of n documents drawn from a pool, except document skip, each followed
// by an empty line.
func examples(pool []Document, n, skip int, r *rand.Rand) string {
	var text strings.Builder
	taken := map[int]bool{skip: true}
	for range n {
		i := r.IntN(len(pool))
		for taken[i] {
			i = r.IntN(len(pool))
		}
		taken[i] = true
		text.WriteString(pool[i].Solved + "\n\n")
	}
	return text.String()
}
