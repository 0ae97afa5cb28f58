package data

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
)

// DefaultShardTokens is the default length of a shard: 200 MB.
const DefaultShardTokens = 100_000_000

// WriteShards writes the documents of a corpus, in order, to token shards in dir, shard-00000.bin
// and so on, and returns their index. A shard holds at most shardTokens tokens (0 means
// DefaultShardTokens), except that a longer document gets a shard of its own. One shard at a time
// is in memory. WriteShards ignores Options.Split, which applies when shards are loaded.
//
// dir is created if necessary and must hold no shards yet. Files appear completely or not at all;
// after an error, those of this call are removed.
func WriteShards(ctx context.Context, dir string, o Options, shardTokens int) (ShardIndex, error) {
	tokenizer, src, err := open(o)
	if err != nil {
		return ShardIndex{}, err
	}
	w := shardWriter{dir: dir, most: cmp.Or(shardTokens, DefaultShardTokens), index: ShardIndex{Tokenizer: tokenizer.Name(), Vocab: tokenizer.Vocab()}}
	if err := w.start(); err != nil {
		return ShardIndex{}, errors.Wrap(err, "shards")
	}
	err = eachDocument(ctx, src, tokenizer, o.Threads, w.add)
	if err == nil && len(w.documents) == 0 {
		err = errEmpty(o)
	}
	if err == nil {
		err = w.finish()
	}
	if err == nil {
		err = w.index.write(dir)
	}
	if err != nil {
		return ShardIndex{}, w.failed(err)
	}
	return w.index, nil
}

// shardWriter collects the documents of a shard and writes it when it is full.
type shardWriter struct {
	dir       string
	most      int      // largest number of tokens in a shard
	documents []Tokens // of the current shard
	tokens    int      // in them
	index     ShardIndex
}

// start makes the folder, or refuses one that holds shards.
func (w *shardWriter) start() error {
	if w.most < 1 {
		return errors.Errorf("want at least 1 token a shard, got %d", w.most)
	}
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(w.dir)
	for _, entry := range entries {
		if entry.Name() == shardIndexName || filepath.Ext(entry.Name()) == ".bin" {
			return errors.Errorf("%s: want a folder without shards, it holds %s: remove it or write elsewhere", w.dir, entry.Name())
		}
	}
	return err
}

// add adds a document, and starts another shard if it does not fit in the current one.
func (w *shardWriter) add(d Document) error {
	if len(w.documents) > 0 && w.tokens+d.Tokens.Len() > w.most {
		if err := w.finish(); err != nil {
			return err
		}
	}
	w.documents, w.tokens = append(w.documents, d.Tokens), w.tokens+d.Tokens.Len()
	return nil
}

// finish writes the current shard.
func (w *shardWriter) finish() error {
	shard, sum := ShardInfo{Name: fmt.Sprintf("shard-%05d.bin", len(w.index.Shards)), Tokens: int64(w.tokens), Documents: int64(len(w.documents))}, sha256.New()
	err := checkpoint.WriteFileAtomic(filepath.Join(w.dir, shard.Name), func(file io.Writer) error {
		for _, tokens := range w.documents {
			if err := tokens.write(io.MultiWriter(file, sum)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return errors.Wrap(err, "shards")
	}
	shard.SHA256 = hex.EncodeToString(sum.Sum(nil))
	w.index.Shards = append(w.index.Shards, shard)
	w.index.Tokens += shard.Tokens
	w.index.Documents += shard.Documents
	w.documents, w.tokens = nil, 0
	return nil
}

// failed removes what was written because of err, and returns err.
func (w *shardWriter) failed(err error) error {
	for _, shard := range w.index.Shards {
		if left := os.Remove(filepath.Join(w.dir, shard.Name)); left != nil {
			return errors.Wrapf(err, "shards: %v; it was to be removed because of", left)
		}
	}
	return err
}
