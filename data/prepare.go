package data

import (
	"cmp"
	"context"
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
)

// trainedPrefix begins the name of a tokenizer that a Preparation trains: train:4096 has 4,096
// ids.
const trainedPrefix = "train:"

const (
	defaultSampleBytes = 256 << 20
	defaultSaveEvery   = 5 * time.Second
)

// PrepareOptions says what a Preparation reads and writes.
type PrepareOptions struct {
	// Options says what to read. The Source must have documents of text. Tokenizer may be
	// trainedPrefix with a number of ids. Split is hash, hash/N or none; it goes by the sha256 of
	// a document's text, so that equal documents are on one side.
	Options
	Dir         string // the folder to write; it is made if necessary
	ShardTokens int    // tokens in a shard, at most, unless one document has more; 0 means 100 million
	Dedupe      bool   // drop a document whose text equals that of an earlier one; needs memory for a map with 16 bytes a document
	// SampleBytes is about how much text a tokenizer is trained on, evenly chosen among the
	// documents that are not validation; 0 means 256 MiB.
	SampleBytes int64
	SaveEvery   time.Duration // how often the state is saved; 0 means every 5 seconds
	Restart     bool          // discard what an unfinished Preparation has left in Dir, instead of going on with it

	Disk     checkpoint.Disk
	Progress func(PrepareProgress) // called for each document, from one goroutine; nil: not called
}

// PrepareProgress tells how far a Preparation has come.
type PrepareProgress struct {
	Training    bool  // whether it reads text to train a tokenizer
	Read, Files int64 // bytes of files read, and of all files
	Resumed     int64 // bytes of files that an earlier call had read
}

// Preparation is a corpus that is about to be written as token shards.
type Preparation struct {
	PrepareOptions
	split     splitRule
	train     int       // ids of the tokenizer to train; 0: none
	tokenizer Tokenizer // nil until it is trained
	source    Reader
	files     []File
	sizes     []int64 // of the files, 0 for one that is not on disk
	read      atomic.Int64

	state   prepareState
	kept    bool      // whether the folder holds work that the same call can go on with
	saved   time.Time // when the state was saved last
	writers [sides]*shardWriter
	seen    *seen // nil unless Dedupe
}

// NewPreparation checks the options and lists the files; it writes nothing. Run does the work.
func NewPreparation(ctx context.Context, o PrepareOptions) (*Preparation, error) {
	p := &Preparation{PrepareOptions: o}
	p.ShardTokens, p.SampleBytes = cmp.Or(o.ShardTokens, defaultShardTokens), cmp.Or(o.SampleBytes, defaultSampleBytes)
	p.Source = cmp.Or[Source](o.Source, Goroot{})
	p.SaveEvery, p.Threads = cmp.Or(o.SaveEvery, defaultSaveEvery), cmp.Or(o.Threads, runtime.GOMAXPROCS(0))
	p.Options.read = &p.read
	p.Options.longest, p.Options.Memory = int64(o.Memory/textShare/(p.Threads+4)), 0
	var err error
	if p.split, err = parseSplit(o.Split); err != nil {
		return nil, err
	}
	switch {
	case p.split.kind == splitTail:
		return nil, errors.Errorf("data.split: want hash, hash/N or none to prepare text, got %q: "+
			"shards without a split can be split by tail when they are read", o.Split)
	case p.ShardTokens < 1:
		return nil, errors.Errorf("shards: want at least 1 token a shard, got %d", p.ShardTokens)
	}
	if ids, ok := strings.CutPrefix(o.Tokenizer, trainedPrefix); ok {
		p.train, err = strconv.Atoi(ids)
		if err != nil || p.train < byteBOS+1 || p.train > maxTokenizerIDs {
			return nil, errors.Errorf("data.tokenizer: want %sN with N from %d to %d ids, got %q", trainedPrefix, byteBOS+1, maxTokenizerIDs, o.Tokenizer)
		}
	} else if p.tokenizer, err = NewTokenizer(cmp.Or(o.Tokenizer, tokenizerBytes)); err != nil {
		return nil, err
	}
	if p.source, err = p.Source.Open(p.Options, cmp.Or[Tokenizer](p.tokenizer, byteTokenizer{})); err != nil {
		return nil, err
	}
	if p.files, err = p.source.Files(ctx); err != nil {
		return nil, err
	}
	p.files = slices.DeleteFunc(p.files, p.writes)
	return p, p.fingerprint()
}

// writes tells whether a file is one that Run writes, or has written before it was interrupted: the
// folder to write may lie inside one that is read.
func (p *Preparation) writes(f File) bool {
	if !isOutput(filepath.Base(f.Disk)) {
		return false
	}
	folder, err := os.Stat(filepath.Dir(f.Disk))
	ours, missing := os.Stat(p.Dir)
	return err == nil && missing == nil && os.SameFile(folder, ours)
}

// Notes says what was done that the options do not say, one line each, to show to the user.
func (p *Preparation) Notes() []string {
	if s, ok := p.source.(*fileSource); ok {
		return s.notes()
	}
	return nil
}

// Run writes the documents to token shards in the folder, with a meta.json that describes them, and
// a tokenizer.json if it trains one. The source Shards reads the folder.
//
// The bytes that it writes depend on the options and the text alone. If it is interrupted, even by
// a kill or a full disk, a Preparation with the same options goes on where the state was last
// saved, and writes the same bytes. The folder is locked meanwhile. A folder without meta.json is
// unfinished. If Run fails before the state is saved for the first time, it removes what it has
// written.
//
// Memory does not grow with the corpus, except for Dedupe. If Options.Memory is set, a
// document may have at most Memory / (8 (threads + 4)) bytes of text; a longer one is an
// error.
func (p *Preparation) Run(ctx context.Context) (Prepared, error) {
	if err := p.Disk.MakeFolder(p.Dir); err != nil {
		return Prepared{}, err
	}
	unlock, err := checkpoint.Lock(p.Dir)
	if err != nil {
		return Prepared{}, err
	}
	defer func() { _ = unlock() }() // the lock ends with the process, too
	if err := p.start(); err != nil {
		return Prepared{}, err
	}
	err = p.write(ctx)
	p.close()
	if err != nil {
		return Prepared{}, p.failed(err)
	}
	return p.state.Meta, nil
}

// start looks at what is in the folder: nothing, or the state of a preparation to go on with.
func (p *Preparation) start() error {
	if _, err := os.Stat(filepath.Join(p.Dir, metaName)); err == nil {
		return errors.Errorf("%s: want a folder without shards, it holds %s: remove it or write elsewhere", p.Dir, metaName)
	}
	state, err := readPrepareState(p.Dir)
	none := errors.Is(err, os.ErrNotExist)
	switch {
	case none:
		if err := p.checkFree(); err != nil {
			return err
		}
	case p.Restart:
		if err := p.discard(); err != nil {
			return err
		}
	case err != nil:
		return err
	case state.Settings != p.state.Settings:
		return errors.Errorf("%s: an unfinished preparation with other settings, or of files that have changed since, is in it: "+
			"make the same call to go on with it, or discard it by -restart", p.Dir)
	default:
		p.state, p.kept = state, true
		for _, size := range p.sizes[:p.state.Next.File] {
			p.read.Add(size)
		}
		return nil
	}
	return p.saveState() // from here on what is in the folder is ours
}

// checkFree returns an error if the folder holds a file that Run would replace.
func (p *Preparation) checkFree() error {
	entries, err := os.ReadDir(p.Dir)
	for _, e := range entries {
		if isOutput(e.Name()) {
			return errors.Errorf("%s: want a folder without shards and tokenizers, it holds %s: remove it or write elsewhere", p.Dir, e.Name())
		}
	}
	return err
}

// write does the remaining work, given the state.
func (p *Preparation) write(ctx context.Context) error {
	if err := p.findTokenizer(ctx); err != nil {
		return err
	}
	if err := p.openOutputs(); err != nil {
		return err
	}
	p.saved = time.Now()
	report := p.reporter(false)
	work := pipeline{source: p.source, threads: p.Threads, from: p.state.Next, encode: func(enc *Encoder, d *Document) error {
		if err := d.examine(p.split); err != nil {
			return err
		}
		return enc.encode(d)
	}}
	err := work.each(ctx, p.files, p.tokenizer, func(d Document) error {
		defer report()
		return p.add(d)
	})
	if err != nil && ctx.Err() != nil { // an interrupt between two documents
		if unsaved := p.save(); unsaved != nil {
			return unsaved
		}
	}
	if err != nil {
		return err
	}
	return p.finish()
}

// add writes a document.
func (p *Preparation) add(d Document) error {
	p.state.Next = place{d.place.File, d.place.Document + 1}
	if d.blank {
		p.state.Meta.Blank++
		return nil
	}
	if p.seen != nil {
		before, err := p.seen.add(d)
		if err != nil {
			return err
		}
		if before {
			p.state.Meta.Duplicates++
			return nil
		}
	}
	if err := p.writers[d.side].add(d.Tokens); err != nil {
		return err
	}
	p.state.Meta.add(d)
	if time.Since(p.saved) < p.SaveEvery {
		return nil
	}
	return p.save()
}

// findTokenizer trains the tokenizer, or reads the one that the folder has already.
func (p *Preparation) findTokenizer(ctx context.Context) (err error) {
	name := cmp.Or(p.Tokenizer, tokenizerBytes)
	if p.train > 0 {
		path := filepath.Join(p.Dir, tokenizerName)
		if !p.state.Trained {
			if err := p.trainTokenizer(ctx, path); err != nil {
				return err
			}
			p.state.Trained, p.kept = true, true
			if err := p.saveState(); err != nil {
				return err
			}
		}
		name = tokenizerName
		p.tokenizer, err = NewTokenizer(path)
		if errors.Is(err, os.ErrNotExist) {
			return errors.WithMessage(checkpoint.ErrGone, path)
		}
		if err != nil {
			return err
		}
	}
	digest := digestOf(p.tokenizer)
	m := &p.state.Meta
	m.Version, m.Tokenizer, m.TokenizerSHA256, m.Vocab, m.Split = metaVersion, name, hex.EncodeToString(digest[:]), p.tokenizer.Vocab(), p.split.String()
	return nil
}

// reporter returns a function that reports progress.
func (p *Preparation) reporter(training bool) func() {
	if p.Progress == nil {
		return func() {}
	}
	now := PrepareProgress{Training: training, Resumed: p.read.Load()}
	for _, size := range p.sizes {
		now.Files += size
	}
	return func() {
		now.Read = p.read.Load()
		p.Progress(now)
	}
}
