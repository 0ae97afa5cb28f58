package tour

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/data/parquet"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/memory"
)

// textFolder is where the prepared text lies.
func (c *call) textFolder() string { return filepath.Join(c.Out, "text") }

// corpus prepares the text, if -data gives one and no earlier call has, and loads it.
func (c *call) corpus(ctx context.Context, out commandline.Output) (*data.Corpus, error) {
	run, err := c.config("rmt", 1, sizes[0].rmt())
	if err != nil {
		return nil, err
	}
	if c.Data != "" && !data.HasShards(c.textFolder()) {
		err = c.prepare(ctx, out)
	}
	var corpus *data.Corpus
	if err == nil {
		corpus, err = run.Data.LoadCorpus(ctx, c.Threads)
	}
	if err == nil {
		err = corpus.CheckValidation(run.Model.Seq)
	}
	if err != nil {
		return nil, commandline.Usage(errors.Wrap(err, "-data"))
	}
	return corpus, nil
}

// promptBytes is about how many bytes of validation text a sample continues.
const promptBytes = 48

// promptOf returns the beginning of the validation text, whole words of it, for the samples.
func promptOf(corpus *data.Corpus) string {
	ids := slices.DeleteFunc(corpus.Val.Tokens.Slice(0, min(4*promptBytes, corpus.Val.Tokens.Len())).IDs(), func(id int32) bool {
		return id == corpus.Tokenizer.BOS()
	})
	text := strings.TrimLeftFunc(strings.ToValidUTF8(corpus.Tokenizer.Decode(ids), ""), unicode.IsSpace)
	end := 0
	for i, r := range text {
		if i > promptBytes && end > 0 {
			break
		}
		if unicode.IsSpace(r) {
			end = i
		}
	}
	return text[:end]
}

// prepare writes the text as shards of bytes.
func (c *call) prepare(ctx context.Context, out commandline.Output) error {
	p, err := data.NewPreparation(ctx, data.PrepareOptions{
		Options: data.Options{
			Source: data.Files{}, Paths: []string{c.Data}, Formats: []data.Format{parquet.Format()},
			Tokenizer: "bytes", Split: "none", TextField: "text", Threads: c.Threads, Memory: memory.Available(),
		},
		Dir: c.textFolder(),
	})
	if err != nil {
		return err
	}
	for _, note := range p.Notes() {
		out.Note(note)
	}
	meta, err := p.Run(ctx)
	if err == nil {
		out.Note(fmt.Sprintf("prepared %s documents", figure.Thousands(meta.Train.Documents)))
	}
	return err
}
