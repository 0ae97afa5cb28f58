// Package prepare holds the command that writes text as token shards.
package prepare

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/data/parquet"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/memory"
)

// Command returns the command that prepares text.
func Command() commandline.Command {
	c := &call{}
	return commandline.Command{
		Name:    "prepare",
		Summary: "write text as token shards that train and eval read; train a tokenizer on it",
		Example: `
			prepare -tokenizer train:1024 -out corpora/go goroot
			train -config quickstart -set data.source=shards -set 'data.path=[corpora/go]' -set data.tokenizer=corpora/go/tokenizer.json
			prepare -tokenizer gpt2 -dedupe -out corpora/web 'web/*.parquet' more.jsonl.zst notes`,
		Notes: `
			PATH is a file, a folder, a glob, or goroot: the source of Go's standard library. Files of text are
			documents; so are the lines of .jsonl files and the rows of .parquet files. .gz and .zst are read, too.

			After an interrupt, a kill or a full disk the same call goes on and writes the same bytes. A folder
			without meta.json is unfinished. docs/data.md has the format and the speed.`,
		Settings: c,
		Run:      c.run,
	}
}

// call holds the arguments of a call.
type call struct {
	Paths       []string      `yaml:"paths" arg:"PATH..." help:"what to read"`
	Out         string        `yaml:"out" help:"write the shards into folder <DIR>"`
	Tokenizer   string        `yaml:"tokenizer" default:"bytes" help:"<NAME>: bytes, gpt2, the path of a tokenizer.json, or train:N, a byte-level BPE of N ids"`
	Sample      int64         `yaml:"sample" default:"256" min:"1" max:"65536" help:"train the tokenizer on about <N> MiB of documents that are not validation"`
	TextField   string        `yaml:"text_field" default:"text" help:"the text is in field <NAME> (a.b: field b of a) of .jsonl lines, in that column of .parquet"`
	Separator   string        `yaml:"separator" help:"the text <TEXT>, such as '<|endoftext|>', ends a document of a text file; without, a file is one document"`
	Split       string        `yaml:"split" default:"hash/20" help:"<RULE>: hash/N keeps about one document in N for validation, by the hash of its text; none"`
	Dedupe      bool          `yaml:"dedupe" help:"drop a document whose text equals that of an earlier one"`
	ShardTokens int           `yaml:"shard_tokens" default:"100000000" min:"1" help:"at most <N> tokens in a shard"`
	Threads     int           `yaml:"threads" min:"0" max:"1024" help:"use <N> CPU threads; 0: one per core"`
	SaveEvery   time.Duration `yaml:"save_every" default:"5s" min:"0" help:"save every <TIME> how far it is, to go on from there"`
	Restart     bool          `yaml:"restart" help:"discard what an unfinished prepare has left in -out, and begin anew"`
}

func (c *call) run(ctx context.Context, out commandline.Output) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	bar := newBar(out)
	o.Progress = bar.show
	p, err := data.NewPreparation(ctx, o)
	if err != nil {
		return commandline.Usage(err)
	}
	for _, note := range p.Notes() {
		out.Note(note)
	}
	began := time.Now()
	meta, err := p.Run(ctx)
	bar.end()
	if ctx.Err() != nil {
		out.Note("the same call goes on from here")
	}
	if err != nil {
		return err
	}
	return out.Print(summary(c.Out, meta, time.Since(began)))
}

// options returns what the call asks for.
func (c *call) options() (o data.PrepareOptions, err error) {
	switch {
	case len(c.Paths) == 0:
		return o, commandline.Usagef("want files, folders, globs, or goroot, as in prepare -out corpora/go goroot, got none")
	case c.Out == "":
		return o, commandline.Usagef("-out: want the folder to write, got nothing")
	}
	o = data.PrepareOptions{
		Options: data.Options{
			Source: data.Files{Separator: c.Separator}, Paths: c.Paths, Formats: []data.Format{parquet.Format()},
			Tokenizer: c.Tokenizer, Split: c.Split, TextField: c.TextField, Threads: c.Threads, Memory: memory.Available(),
		},
		Dir: c.Out, ShardTokens: c.ShardTokens, Dedupe: c.Dedupe, SampleBytes: c.Sample << 20, SaveEvery: c.SaveEvery, Restart: c.Restart,
	}
	if _, missing := os.Stat(data.Goroot{}.Name()); len(c.Paths) == 1 && c.Paths[0] == (data.Goroot{}).Name() && errors.Is(missing, os.ErrNotExist) {
		o.Source, o.Paths = data.Goroot{}, nil
	}
	return o, nil
}

// summary says what was written.
func summary(dir string, p data.Prepared, took time.Duration) string {
	counts := func(name string, c data.Counts) []string {
		return []string{name, figure.Thousands(c.Documents), figure.Thousands(c.Tokens), figure.Thousands(c.TextBytes)}
	}
	table := figure.Table{Header: []string{"", "documents", "tokens", "bytes of text"}, Align: "lrrr", Rows: [][]string{counts("train", p.Train)}}
	if p.Validation.Documents > 0 {
		table.Rows = append(table.Rows, counts("validation", p.Validation))
	}
	text := fmt.Sprintf("%s\n%.2f bytes a token (%s, %s ids); longest document: %s, %s tokens\n", table.Text(),
		p.BytesPerToken, p.Tokenizer, figure.Thousands(int64(p.Vocab)), p.Longest.Name, figure.Thousands(p.Longest.Tokens))
	if p.Duplicates > 0 {
		text += "duplicates dropped: " + figure.Thousands(p.Duplicates) + "\n"
	}
	if p.Blank > 0 {
		text += "records without a text, which were left out: " + figure.Thousands(p.Blank) + "\n"
	}
	if p.NotUTF8 > 0 {
		text += fmt.Sprintf("documents with bytes that are not UTF-8, which are kept as they are: %s\n", figure.Thousands(p.NotUTF8))
	}
	return text + fmt.Sprintf("wrote %s in %v, shards: %d\n", dir, took.Round(time.Second/10), len(p.Shards))
}

// bar shows progress on a terminal.
type bar struct {
	out      commandline.Output
	progress *commandline.Progress
	training bool
}

func newBar(out commandline.Output) *bar { return &bar{out: out} }

// show redraws the bar.
func (b *bar) show(p data.PrepareProgress) {
	if b.progress == nil || b.training != p.Training {
		what := "MB read"
		if p.Training {
			what = "MB read to train the tokenizer"
		}
		b.end()
		b.progress, b.training = commandline.NewProgress(b.out, what), p.Training
	}
	b.progress.Rate(p.Read, p.Files, p.Resumed)
}

// end removes the bar.
func (b *bar) end() {
	if b.progress != nil {
		b.progress.End()
	}
}
