package data

import (
	"cmp"
	"context"
	"sync/atomic"

	"github.com/residua-go/residua/internal/badsetting"
)

// Source is a kind of source of documents: a struct whose tagged fields, none of them a section,
// are its settings, the keys of a run's section data.source. Goroot, Files and Shards are built in;
// models.Zoo.WithKinds adds others. The documents must depend on the settings and the options
// alone, so that a resumed run gets the same corpus.
type Source interface {
	Name() string // the kind
	// Open checks settings and options, without access to the disk, and returns the reader of
	// the documents. t is the source's own tokenizer if the source is Tokenized, otherwise the
	// one that the options name. The error for a bad setting is a *layers.SettingError, which
	// names the key.
	Open(o Options, t Tokenizer) (Reader, error)
}

// Tokenized is a Source whose documents consist of ids from its own vocabulary, as those of a
// synthetic task do.
type Tokenized interface {
	Source
	// Tokenizer returns a tokenizer for these ids. Its Decode shows them, and its Encode reads what
	// Decode shows.
	Tokenizer() Tokenizer
}

// Reader is an opened Source: a list of files, each of which contains documents. Read may run for
// several files at a time; the documents of one file are emitted in order. The name of a document
// must be unique, because the split depends on it; the files' names determine the order of the
// corpus.
type Reader interface {
	Files(ctx context.Context) ([]File, error)
	Read(ctx context.Context, f File, enc *Encoder, emit func(Document) error) error
}

// File is a part of a source that is read as a unit.
type File struct {
	Name string // slash-separated and relative
	Disk string // path to open; "": it is not on disk
	size int64  // of a file found by walk

	named bool // by a path or a glob: not found in a folder
}

// Document is one document of a source.
type Document struct {
	Name   string
	Tokens Tokens // BOS first; empty in a document that Encoder.Document has made, until it is encoded

	text    string
	turns   []turn // instead of text
	waiting bool   // text or turns are still to be encoded
	blank   bool   // a record without a text, which is counted and left out
	place   place
	side    side    // side of a shard that Preparation.Run wrote
	content content // set by a Preparation
}

// Goroot is the source text of the Go standard library: the *.go files under GOROOT/src of less
// than 200,000 bytes, except in folders with "testdata" in their path. Each file is a document,
// named by its path below src. Options.Paths has at most one path, the root of a Go installation;
// without it, the root is $GOROOT or what `go env GOROOT` prints.
type Goroot struct{}

// Name returns "goroot".
func (Goroot) Name() string { return "goroot" }

// Open returns a reader of the sources below the root.
func (Goroot) Open(o Options, _ Tokenizer) (Reader, error) {
	return gorootSource{paths: o.Paths, read: o.read}, nil
}

// Files reads text files; see Options.Paths. Each file is a document, or each line of a .jsonl
// file, named "file:line", or each of several JSON objects in another file, named "file:number".
// Files, lines and objects without any text are skipped; a Corpus and a Preparation count the
// latter two.
type Files struct {
	Separator string `yaml:"separator" json:"separator,omitempty" help:"this text ends a document, in text files that hold several; empty: a file is one document"`
}

// Name returns "files".
func (Files) Name() string { return "files" }

// Open requires paths.
func (f Files) Open(o Options, _ Tokenizer) (Reader, error) {
	reader := diskReader{memory: o.Memory, longest: o.longest, read: o.read}
	return &fileSource{separator: f.Separator, paths: o.Paths, field: cmp.Or(o.TextField, "text"), byExtension: o.former, disk: reader,
		formats: o.Formats}, o.checkPaths(f)
}

// Shards reads token shards that Preparation.Run has written, or any raw little-endian uint16 ids
// (uint32 if the tokenizer has more than 65,536) in which every document begins with BOS. Documents
// are named "file#index", with indices from 0.
type Shards struct{}

// Name returns "shards".
func (Shards) Name() string { return "shards" }

// Open requires paths.
func (s Shards) Open(o Options, t Tokenizer) (Reader, error) {
	return newShardSource(o.Paths, t), o.checkPaths(s)
}

// checkPaths requires at least one path.
func (o Options) checkPaths(s Source) error {
	if len(o.Paths) == 0 {
		return badsetting.Errorf("data.path", "want files, folders or globs for source %s, got none", s.Name())
	}
	return nil
}

// Options says which corpus to load. The zero value loads the Go standard library as bytes, and
// holds out one document in 20.
type Options struct {
	Source Source // nil means Goroot

	// Paths is where Files and Shards look. Each path is a file, a folder or a glob. A folder is
	// read with all folders below it; links to files are followed, also out of the folder, links to
	// folders are not, and hidden names are skipped. Links and folders that cannot be read are
	// passed over, with a note. In a glob, * ? [a-z] stand for part of a name and ** for any number
	// of folders. A folder yields its text files (recognised by extension or, if they have none, by
	// content; each optionally with .gz or .zst after it) or, for Shards, the shards that its
	// meta.json lists. A file found twice counts once. Pipes and devices are refused, and so are
	// compressed files that are made to fill memory.
	//
	// A document's file is named relative to the folder, or to the part of
	// the glob before the first wildcard, or by its base name: moving a corpus
	// elsewhere changes neither order nor split.
	Paths []string

	Tokenizer string // see NewTokenizer; "" means bytes

	// Chat renders messages of Conversations by a model's chat template, up to the first one that
	// cannot be rendered. nil: messages are refused.
	Chat func(ctx context.Context, chats []Chat) ([]string, error)

	// Split says which part of the corpus is validation:
	//
	//	hash, hash/N  documents whose name's sha256, its first 8 bytes taken as
	//	              a big-endian number, is 0 modulo N: about one in N; of a
	//	              corpus of one document, the last 1/N of its tokens
	//	tail, tail/N  the last 1/N of all tokens: for corpora of few documents
	//	none          nothing
	//
	// Documents of shards that Preparation.Run has split stay on their side by hash and hash/N.
	//
	// N is at least 2 and 20 if left out; "" means hash.
	Split string

	// TokenizerName is the name by which the Fingerprint knows the tokenizer, if Tokenizer is the
	// path of a copy of the file with that name.
	TokenizerName string

	TextField string // the field of a .jsonl line that contains the text; "" means text
	Memory    int    // bytes of memory that are available; the text of a compressed file may take an eighth; 0: unknown
	Threads   int    // files read at a time; 0 means GOMAXPROCS. The result does not depend on it.

	// Formats reads further kinds of files, which Files finds by their extension.
	Formats []Format

	longest int64         // bytes of the longest document that is accepted; 0: no limit
	read    *atomic.Int64 // counts the bytes of files that are read; nil: nobody wants to know
	former  bool          // read as earlier versions did; see Corpus.Matching
}

// TokenizerOf returns the tokenizer of a Tokenized source, otherwise the one with the given name.
// With a source, BOS begins prompts and ends texts, since the source's documents begin with BOS;
// Conversations end with EOS. If s is nil, the files next to a tokenizer.json say which tokens do.
func TokenizerOf(s Source, name string) (Tokenizer, error) {
	if own, ok := s.(Tokenized); ok {
		return own.Tokenizer(), nil
	}
	t, err := NewTokenizer(name)
	if s != nil && err == nil {
		t = forDocuments(t, s)
	}
	return t, err
}

// Encoder turns texts into documents. It must be used from one goroutine.
type Encoder struct {
	tokenizer Tokenizer
	ids       []int32 // scratch
}

// Document returns the document of a text. It is encoded after the Source has emitted it, while the
// Source reads on.
func (e *Encoder) Document(name, text string) Document {
	return Document{Name: name, text: text, waiting: true}
}

// encode encodes a document of text, and drops its text.
func (e *Encoder) encode(d *Document) error {
	if err := d.checkText(); err != nil {
		return err
	}
	if d.waiting && d.turns != nil {
		e.encodeTurns(d)
	}
	if d.waiting {
		e.ids = append(e.ids[:0], e.tokenizer.BOS())
		bytes := e.add(d.text)
		d.Tokens, d.text, d.waiting = NewTokens(e.tokenizer.Vocab(), e.ids), "", false
		d.Tokens.text = bytes
	}
	return nil
}

// add adds the ids of a text, and returns which of them stand for other bytes than their own.
func (e *Encoder) add(text string) (bytes textBytes) {
	if bpe, ok := e.tokenizer.(*bpeTokenizer); ok {
		e.ids, bytes = bpe.encodeText(e.ids, text)
	} else {
		e.ids = e.tokenizer.Encode(e.ids, text)
	}
	return bytes
}
