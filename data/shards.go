package data

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	mmap "github.com/edsrzf/mmap-go"
	"github.com/pkg/errors"
)

// shardSource is documents that are tokens already: raw little-endian uint16
// files, mapped into memory one at a time a reader.
type shardSource struct {
	paths     []string
	tokenizer Tokenizer
	listed    map[string]ShardInfo // by file.disk: what an index says of it; set by files
}

func newShardSource(paths []string, t Tokenizer) *shardSource {
	return &shardSource{paths: paths, tokenizer: t, listed: map[string]ShardInfo{}}
}

func (s *shardSource) files(ctx context.Context) ([]file, error) {
	return expandPaths(ctx, KindShards, s.paths, s.folder)
}

// folder lists the shards that the index of a folder names.
func (s *shardSource) folder(_ context.Context, dir string) ([]file, error) {
	index, err := ReadShardIndex(dir)
	if err != nil {
		return nil, err
	}
	if index.Tokenizer != s.tokenizer.Name() {
		return nil, errors.Errorf("%s: want shards of tokenizer %q, these were made with %q: set data.tokenizer: %s, or prepare them anew",
			dir, s.tokenizer.Name(), index.Tokenizer, index.Tokenizer)
	}
	var files []file
	for _, shard := range index.Shards {
		f := file{name: shard.Name, disk: filepath.Join(dir, shard.Name)}
		s.listed[f.disk] = shard
		files = append(files, f)
	}
	return files, nil
}

func (s *shardSource) read(f file, _ *encoder, emit func(document) error) error {
	err := withMapped(f.disk, func(shard shardView) error {
		if info, ok := s.listed[f.disk]; ok {
			if err := shard.matches(info); err != nil {
				return err
			}
		}
		return s.documents(f.name, shard, emit)
	})
	return errors.Wrapf(err, "data.source shards: %s", f.disk)
}

// documents emits the documents of a shard: each ends before the next BOS.
func (s *shardSource) documents(name string, shard shardView, emit func(document) error) error {
	bos, vocab := uint16(s.tokenizer.BOS()), s.tokenizer.Vocab()
	if first := shard.token(0); first != bos {
		return errors.Errorf("want the first token to be BOS (%d) of tokenizer %q, got %d: shards are raw little-endian uint16 without a header, and every document begins with BOS",
			bos, s.tokenizer.Name(), first)
	}
	count := 0
	for start := 0; start < shard.len(); {
		end := start + 1
		for end < shard.len() && shard.token(end) != bos {
			end++
		}
		tokens := make([]uint16, end-start)
		for i := range tokens {
			tokens[i] = shard.token(start + i)
			if int(tokens[i]) >= vocab {
				return errors.Errorf("token %d: want ids below %d (tokenizer %q), got %d: was it made with another tokenizer?",
					start+i, vocab, s.tokenizer.Name(), tokens[i])
			}
		}
		if err := emit(document{fmt.Sprintf("%s#%d", name, count), tokens}); err != nil {
			return err
		}
		start = end
		count++
	}
	return nil
}

// shardView is the bytes of a shard.
type shardView []byte

func (v shardView) len() int           { return len(v) / 2 }
func (v shardView) token(i int) uint16 { return binary.LittleEndian.Uint16(v[2*i:]) }

// matches returns an error if the shard is not the one that the index lists.
func (v shardView) matches(info ShardInfo) error {
	if int64(v.len()) != info.Tokens {
		return errors.Errorf("want %d tokens, as %s says, got %d: the file is damaged, prepare the shards anew",
			info.Tokens, shardIndexName, v.len())
	}
	sum := sha256.Sum256(v)
	if got := hex.EncodeToString(sum[:]); got != info.SHA256 {
		return errors.Errorf("want sha256 %.12s, as %s says, got %.12s: the file is damaged, prepare the shards anew",
			info.SHA256, shardIndexName, got)
	}
	return nil
}

// withMapped maps a shard into memory for use.
func withMapped(disk string, use func(shardView) error) (err error) {
	f, err := os.Open(disk)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if size := info.Size(); size == 0 || size%2 != 0 {
		return errors.Errorf("want uint16 tokens, two bytes each, got %d bytes", size)
	}
	view, err := mmap.Map(f, mmap.RDONLY, 0)
	if err != nil {
		return errors.Wrap(err, "mapping it into memory")
	}
	defer func() {
		if unmapErr := view.Unmap(); err == nil {
			err = unmapErr
		}
	}()
	return use(shardView(view))
}
