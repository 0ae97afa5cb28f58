package data

import (
	"cmp"
	"context"

	"github.com/residua-go/residua/internal/setting"
)

// Source is a kind of source of documents: a struct whose tagged fields, without further sections, are its settings, the keys
// of a run's section data.source. Goroot, Files and Shards are ours; models.Zoo.WithKinds adds one. What it gives is a function of its
// settings and the options alone, so that a run that is gone on with has its corpus again.
type Source interface {
	Name() string // the kind
	// Open checks settings and options, without a look at the disk, and returns what reads the documents. t is the
	// source's own tokenizer, if it is Tokenized, else that of the options. A *layers.SettingError names the key.
	Open(o Options, t Tokenizer) (Reader, error)
}

// Tokenized is a Source whose documents are made of ids of its own, as those of a synthetic task are.
type Tokenized interface {
	Source
	// Tokenizer has the ids. Its Decode shows them, and Encode reads what Decode shows.
	Tokenizer() Tokenizer
}

// Reader is an opened Source: a list of files, each of which holds documents. Read may run for several files at a time;
// what it emits for one file comes in the order of the file. A document's name, of which no other has the same, is what
// the split goes by, and the files' names are the order of a corpus.
type Reader interface {
	Files(ctx context.Context) ([]File, error)
	Read(ctx context.Context, f File, enc *Encoder, emit func(Document) error) error
}

// File is a part of a source that is read at a time.
type File struct {
	Name string // slash-separated and relative
	Disk string // where to open it; "": it is not on disk
	size int64  // of a file that walkFiles found
}

// Document is one document of a source.
type Document struct {
	Name   string
	Tokens Tokens // BOS first
}

// Goroot is the source text of the Go standard library: *.go under GOROOT/src in folders without "testdata" in their
// path, files under 200,000 bytes. Documents are files, named by their path below src. Options.Paths has at most one: the
// root of a Go installation; none means $GOROOT, then what `go env GOROOT` prints.
type Goroot struct{}

// Name is "goroot".
func (Goroot) Name() string { return "goroot" }

// Open reads below the root.
func (Goroot) Open(o Options, _ Tokenizer) (Reader, error) { return gorootSource{paths: o.Paths}, nil }

// Files is text files; see Options.Paths. Documents are files, or the lines of .jsonl files, named "file:line". Files and
// lines without any text are passed over.
type Files struct{}

// Name is "files".
func (Files) Name() string { return "files" }

// Open wants paths.
func (f Files) Open(o Options, _ Tokenizer) (Reader, error) {
	return &fileSource{paths: o.Paths, field: cmp.Or(o.TextField, "text"), byExtension: o.former, memory: o.Memory}, o.checkPaths(f)
}

// Shards is token shards that WriteShards made, or any raw little-endian uint16 ids (uint32 where the tokenizer has more
// than 65,536) in which every document begins with BOS. Documents are named "file#index", the index counted from 0.
type Shards struct{}

// Name is "shards".
func (Shards) Name() string { return "shards" }

// Open wants paths.
func (s Shards) Open(o Options, t Tokenizer) (Reader, error) {
	return newShardSource(o.Paths, t), o.checkPaths(s)
}

// checkPaths wants some.
func (o Options) checkPaths(s Source) error {
	if len(o.Paths) == 0 {
		return setting.Errorf("data.path", "want files, folders or globs for source %s, got none", s.Name())
	}
	return nil
}

// Options says which corpus to load. The zero value is the bytes of the Go
// standard library, one document in 20 held out.
type Options struct {
	Source Source // nil means Goroot

	// Paths is where Files and Shards look: one or more of a file; a folder, read with all folders below it (links to
	// folders are not followed, hidden names are passed over); a glob, in which * ? [a-z] stand for part of a name and **
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

// TokenizerOf is the tokenizer that a source has, if it is Tokenized, else that of a name.
func TokenizerOf(s Source, name string) (Tokenizer, error) {
	if own, ok := s.(Tokenized); ok {
		return own.Tokenizer(), nil
	}
	return NewTokenizer(name)
}

// Encoder makes documents of texts. One serves one goroutine.
type Encoder struct {
	tokenizer Tokenizer
	ids       []int32 // scratch
}

// Document is the document of a text.
func (e *Encoder) Document(name, text string) Document {
	e.ids = e.tokenizer.Encode(append(e.ids[:0], e.tokenizer.BOS()), text)
	return Document{name, NewTokens(e.tokenizer.Vocab(), e.ids)}
}
