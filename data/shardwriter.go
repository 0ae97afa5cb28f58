package data

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pkg/errors"
)

// DefaultShardTokens is the length of a shard if none is given: 200 MB.
const DefaultShardTokens = 100_000_000

// WriteShards writes the documents of a corpus, in order, to token shards in
// dir, and returns their index. A shard holds at most shardTokens tokens (0
// means DefaultShardTokens), except that a longer document gets one of its
// own. Options.Split has no part in it: it is applied when shards are loaded.
//
// dir is created if need be and must hold no shards yet. Files appear whole or
// not at all; after an error, dir is without those of this call.
func WriteShards(ctx context.Context, dir string, o Options, shardTokens int) (index ShardIndex, err error) {
	defer func() { err = printable(err) }()
	tokenizer, src, err := open(o)
	if err != nil {
		return ShardIndex{}, err
	}
	w, err := NewShardWriter(dir, tokenizer, shardTokens)
	if err != nil {
		return ShardIndex{}, err
	}
	err = eachDocument(ctx, src, tokenizer, o.Threads, func(d document) error { return w.Append(d.tokens) })
	if err == nil && w.index.Documents == 0 {
		err = errEmpty(o.Source)
	}
	if err != nil {
		return ShardIndex{}, w.failed(err)
	}
	return w.Close()
}

// ShardWriter writes documents to token shards: shard-00000.bin and so on, and
// at last the index. A writer ends with Close or Abort. It serves one
// goroutine.
type ShardWriter struct {
	dir         string
	tokenizer   Tokenizer
	shardTokens int64
	index       ShardIndex
	written     []string // paths that Abort removes
	ended       bool     // by Close or Abort

	file   *atomicFile // the shard being written, nil if none
	buffer *bufio.Writer
	sum    hash.Hash
	shard  ShardInfo
	bytes  []byte // scratch
}

// NewShardWriter returns a writer of shards of at most shardTokens tokens (0
// means DefaultShardTokens) in dir, which is created if need be and must hold
// no shards yet.
func NewShardWriter(dir string, t Tokenizer, shardTokens int) (w *ShardWriter, err error) {
	defer func() { err = printable(err) }()
	if shardTokens == 0 {
		shardTokens = DefaultShardTokens
	}
	if shardTokens < 1 {
		return nil, errors.Errorf("shards: want at least 1 token a shard, got %d", shardTokens)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, errors.Wrap(err, "shards")
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, errors.Wrap(err, "shards")
	}
	for _, entry := range entries {
		if entry.Name() == shardIndexName || filepath.Ext(entry.Name()) == ".bin" {
			return nil, errors.Errorf("shards: %s: want a folder without shards, it holds %s: remove it or write elsewhere", dir, entry.Name())
		}
	}
	return &ShardWriter{
		dir:         dir,
		tokenizer:   t,
		shardTokens: int64(shardTokens),
		index:       ShardIndex{Tokenizer: t.Name(), Vocab: t.Vocab()},
		sum:         sha256.New(),
	}, nil
}

// Append writes one document: BOS, then ids of the tokenizer other than BOS.
func (w *ShardWriter) Append(tokens Tokens) (err error) {
	defer func() { err = printable(err) }()
	if w.ended {
		return errors.Errorf("shards: %s: want documents before Close or Abort, got one after", w.dir)
	}
	if err := w.checkDocument(tokens); err != nil {
		return err
	}
	if w.file != nil && w.shard.Tokens+int64(tokens.Len()) > w.shardTokens {
		if err := w.finishShard(); err != nil {
			return err
		}
	}
	if w.file == nil {
		if err := w.startShard(); err != nil {
			return err
		}
	}
	w.bytes = tokens.appendTo(w.bytes[:0])
	w.sum.Write(w.bytes)
	if _, err := w.buffer.Write(w.bytes); err != nil {
		return errors.Wrapf(err, "shards: %s", w.file.path)
	}
	w.shard.Tokens += int64(tokens.Len())
	w.shard.Documents++
	w.index.Tokens += int64(tokens.Len())
	w.index.Documents++
	return nil
}

func (w *ShardWriter) checkDocument(tokens Tokens) error {
	bos := w.tokenizer.BOS()
	for i := range tokens.Len() {
		token := tokens.At(i)
		if (token == bos) != (i == 0) || int(token) >= w.tokenizer.Vocab() {
			return errors.Errorf("shards: document %d: want BOS (%d), then ids below %d other than BOS, got %d at %d",
				w.index.Documents, bos, w.tokenizer.Vocab(), token, i)
		}
	}
	if tokens.Len() == 0 {
		return errors.Errorf("shards: document %d: want BOS (%d) and its ids, got no token", w.index.Documents, bos)
	}
	return nil
}

func (w *ShardWriter) startShard() error {
	name := fmt.Sprintf("shard-%05d.bin", len(w.index.Shards))
	f, err := createAtomic(filepath.Join(w.dir, name))
	if err != nil {
		return errors.Wrap(err, "shards")
	}
	w.file, w.shard = f, ShardInfo{Name: name}
	w.written = append(w.written, f.path)
	w.sum.Reset()
	if w.buffer == nil {
		w.buffer = bufio.NewWriterSize(io.Discard, 1<<20)
	}
	w.buffer.Reset(f)
	return nil
}

func (w *ShardWriter) finishShard() error {
	if err := w.buffer.Flush(); err != nil {
		return errors.Wrapf(err, "shards: %s", w.file.path)
	}
	if err := w.file.commit(); err != nil {
		return errors.Wrap(err, "shards")
	}
	w.file = nil
	w.shard.SHA256 = hex.EncodeToString(w.sum.Sum(nil))
	w.index.Shards = append(w.index.Shards, w.shard)
	return nil
}

// Close finishes the last shard and writes the index. If it fails, or nothing
// was appended, the folder is left as Abort leaves it.
func (w *ShardWriter) Close() (index ShardIndex, err error) {
	defer func() { err = printable(err) }()
	if w.index.Documents == 0 {
		return ShardIndex{}, w.failed(errors.New("shards: want at least one document, got none"))
	}
	if w.file != nil {
		if err := w.finishShard(); err != nil {
			return ShardIndex{}, w.failed(err)
		}
	}
	w.written = append(w.written, filepath.Join(w.dir, shardIndexName))
	if err := w.index.write(w.dir); err != nil {
		return ShardIndex{}, w.failed(errors.Wrap(err, "shards"))
	}
	w.written, w.ended = nil, true
	return w.index, nil
}

// Abort removes what this writer wrote. After Close it does nothing.
func (w *ShardWriter) Abort() (first error) {
	defer func() { first = printable(first) }()
	w.ended = true
	if w.file != nil {
		first = w.file.discard()
		w.file = nil
	}
	for _, path := range w.written {
		if err := os.Remove(path); first == nil && !errors.Is(err, fs.ErrNotExist) {
			first = err
		}
	}
	w.written = nil
	return errors.Wrap(first, "shards: removing unfinished ones")
}

// failed aborts because of err and returns it.
func (w *ShardWriter) failed(err error) error {
	if abortErr := w.Abort(); abortErr != nil {
		return errors.Wrapf(err, "%v; it was done because of", abortErr)
	}
	return err
}
