package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/layers"
)

// Sums is the kind sums of data.source: generated lines of arithmetic, "17+5=22", several in each
// document. The documents depend only on its settings, so that a resumed run has the same corpus.
type Sums struct {
	Documents int    `yaml:"documents" min:"1" max:"1000000" help:"number of documents"`
	Lines     int    `yaml:"lines" min:"1" max:"10000" help:"sums of a document"`
	Most      int    `yaml:"most" min:"1" max:"1000000000" help:"greatest number that is added"`
	Seed      uint64 `yaml:"seed" help:"seed of the numbers"`
}

// Name returns the kind that data.source names.
func (Sums) Name() string { return "sums" }

// Open refuses paths, since there is nothing to read. The settings' bounds are checked by their
// tags.
func (s Sums) Open(o data.Options, _ data.Tokenizer) (data.Reader, error) {
	if len(o.Paths) > 0 {
		return nil, layers.Setting("data.path", "want none for source sums, got %v", o.Paths)
	}
	return s, nil
}

// perFile is the number of documents that one thread makes at a time.
const perFile = 256

// Files returns groups of documents, so that threads can work on different groups.
func (s Sums) Files(context.Context) ([]data.File, error) {
	var files []data.File
	for first := 0; first < s.Documents; first += perFile {
		files = append(files, data.File{Name: fmt.Sprintf("%09d", first)})
	}
	return files, nil
}

// Read makes the documents of a file, each with its own random numbers.
func (s Sums) Read(ctx context.Context, f data.File, enc *data.Encoder, emit func(data.Document) error) error {
	first, err := strconv.Atoi(f.Name)
	if err != nil {
		return err
	}
	for i := first; i < min(first+perFile, s.Documents) && ctx.Err() == nil; i++ {
		random, text := rand.New(rand.NewPCG(s.Seed, uint64(i))), ""
		for range s.Lines {
			a, b := random.IntN(s.Most+1), random.IntN(s.Most+1)
			text += fmt.Sprintf("%d+%d=%d\n", a, b, a+b)
		}
		if err := emit(enc.Document(fmt.Sprint(i), text)); err != nil {
			return err
		}
	}
	return ctx.Err()
}
