package data

import (
	"cmp"
	"context"
	"strings"

	"github.com/pkg/errors"
)

// Kinds of Source.
const (
	KindGoroot = "goroot"
	KindFiles  = "files"
	KindShards = "shards"
)

// Source says where documents come from.
type Source struct {
	// Kind is one of
	//
	//	goroot  the source text of the Go standard library: *.go under
	//	        GOROOT/src in folders without "testdata" in their path, files
	//	        under 200,000 bytes. Documents are files, named by their path
	//	        below src. This is the default.
	//	files   text files; see Paths. Documents are files, or the lines of
	//	        .jsonl files, named "file:line". Files and lines without any
	//	        text are passed over.
	//	shards  token shards that WriteShards made, or any raw little-endian
	//	        uint16 ids (uint32 where the tokenizer has more than 65,536) in
	//	        which every document begins with BOS. Documents
	//	        are named "file#index", the index counted from 0.
	Kind string

	// Paths is where to look.
	//
	// For goroot, at most one: the root of a Go installation; none means
	// $GOROOT, then what `go env GOROOT` prints.
	//
	// For files and shards, one or more of: a file; a folder, read with all
	// folders below it (links to folders are not followed, hidden names are
	// passed over); a glob, in which * ? [a-z] stand for part of a name and **
	// for any number of folders. A folder gives its text files (by extension:
	// TextExtensions; without one, by content; each optionally with .gz or .zst
	// after it), or, for shards, those that its shards.json lists. A file met
	// twice counts once. Pipes and devices are refused, as are compressed files
	// that are made to fill memory.
	//
	// A document's file is named relative to the folder, or to the part of
	// the glob before the first wildcard, or by its base name: moving a corpus
	// elsewhere changes neither order nor split.
	Paths []string
}

// Options says which corpus to load. The zero value is the bytes of the Go
// standard library, one document in 20 held out.
type Options struct {
	Source    Source
	Tokenizer string // see NewTokenizer; "" means bytes

	// Split says which part of the corpus is validation:
	//
	//	hash, hash/N  documents whose name's sha256, its first 8 bytes taken as
	//	              a big-endian number, is 0 modulo N: about one in N; of a
	//	              corpus of one document, the last 1/N of its tokens
	//	tail, tail/N  the last 1/N of all tokens: for corpora of few documents
	//	none          nothing
	//
	// N is at least 2 and 20 if left out; "" means hash.
	Split string

	TextField string // the field of a .jsonl line that holds the text; "" means text
	Memory    int    // bytes: a compressed file may hold an eighth of it; 0: any number that is likely for its size
	Threads   int    // files read at a time; 0 means GOMAXPROCS. Never changes the result.

	former bool // read as Corpus.Matching says
}

// file is one file of a source.
type file struct {
	name string // slash-separated and relative: what the split and the order go by
	disk string // where to open it
	size int64  // of a file that walkFiles found
}

// document is one document of a source.
type document struct {
	name   string
	tokens Tokens // BOS first
}

// source is a kind of Source: a list of files, each of which holds documents.
// read may run for several files at a time; what it emits for one file comes
// in the order of the file.
type source interface {
	files(ctx context.Context) ([]file, error)
	read(ctx context.Context, f file, enc *encoder, emit func(document) error) error
}

// newSource returns the source that the options name.
func newSource(o Options, t Tokenizer) (source, error) {
	switch o.Source.Kind {
	case "", KindGoroot:
		return gorootSource{paths: o.Source.Paths}, nil
	case KindFiles:
		return &fileSource{paths: o.Source.Paths, field: cmp.Or(o.TextField, "text"), byExtension: o.former, memory: o.Memory}, nil
	case KindShards:
		return newShardSource(o.Source.Paths, t), nil
	}
	return nil, errors.Errorf("data.source: want one of %s, got %q",
		strings.Join([]string{KindGoroot, KindFiles, KindShards}, ", "), o.Source.Kind)
}

// encoder makes documents of texts. One serves one goroutine.
type encoder struct {
	tokenizer Tokenizer
	ids       []int32 // scratch
}

func (e *encoder) document(name, text string) document {
	e.ids = e.tokenizer.Encode(append(e.ids[:0], e.tokenizer.BOS()), text)
	return document{name, NewTokens(e.tokenizer.Vocab(), e.ids)}
}
