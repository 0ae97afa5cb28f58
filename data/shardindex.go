package data

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/internal/regular"
)

// shardIndexName is the name of the file that lists the shards of a folder. It is written last, so
// that a folder without it is unfinished.
const shardIndexName = "shards.json"

// ShardIndex describes the shards in a folder.
type ShardIndex struct {
	Tokenizer string      `json:"tokenizer"`
	Vocab     int         `json:"vocab"`
	Tokens    int64       `json:"tokens"`
	Documents int64       `json:"documents"`
	Shards    []ShardInfo `json:"shards"` // in the order of the documents
}

// ShardInfo describes one shard.
type ShardInfo struct {
	Name      string `json:"name"` // in the folder of the index
	Tokens    int64  `json:"tokens"`
	Documents int64  `json:"documents"`
	SHA256    string `json:"sha256"` // of the file, in hex
}

// maxIndexBytes limits the size of an index, to about 100,000 shards.
const maxIndexBytes = 16 << 20

// ReadShardIndex reads the index of a folder that WriteShards filled. It checks the counts in the
// index; whether the files match the index is checked when they are loaded.
func ReadShardIndex(dir string) (ShardIndex, error) {
	path := filepath.Join(dir, shardIndexName)
	text, err := regular.Read(path, maxIndexBytes)
	if errors.Is(err, os.ErrNotExist) {
		return ShardIndex{}, errors.Errorf("%s: want %s in a folder of shards, found none: it is unfinished or was made by another program; name its files by a glob (%s) to read them as they are",
			dir, shardIndexName, filepath.Join(dir, "*.bin"))
	}
	if err != nil {
		return ShardIndex{}, err
	}
	var index ShardIndex
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&index); err != nil {
		return ShardIndex{}, errors.Wrapf(err, "%s: want an index of shards", path)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return ShardIndex{}, errors.Errorf("%s: want an index of shards and nothing after it, got more from byte %d: it is damaged, prepare the shards anew", path, decoder.InputOffset())
	}
	return index, errors.Wrap(index.check(), path)
}

// HasShardIndex tells whether a folder holds token shards with their index.
func HasShardIndex(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, shardIndexName))
	return err == nil
}

// check returns an error if no shards can have this index.
func (x ShardIndex) check() error {
	if len(x.Shards) == 0 {
		return errors.New("want at least one shard, it lists none")
	}
	const damaged = "it is damaged, prepare the shards anew"
	seen := make(map[string]bool, len(x.Shards))
	var tokens, documents int64
	for _, shard := range x.Shards {
		switch {
		case filepath.Base(shard.Name) != shard.Name || !filepath.IsLocal(shard.Name):
			return errors.Errorf("want names of files in the same folder, got %q", shard.Name)
		case seen[shard.Name]:
			return errors.Errorf("want every shard once, it lists %q twice: %s", shard.Name, damaged)
		case shard.Tokens < 1 || shard.Documents < 1:
			return errors.Errorf("%q: want at least one token and one document, got %d and %d: %s", shard.Name, shard.Tokens, shard.Documents, damaged)
		}
		seen[shard.Name] = true
		tokens += shard.Tokens
		documents += shard.Documents
	}
	if tokens != x.Tokens || documents != x.Documents {
		return errors.Errorf("want %d tokens in %d documents, the sums of its shards, got %d in %d: %s", tokens, documents, x.Tokens, x.Documents, damaged)
	}
	return nil
}

// write puts the index into a folder.
func (x ShardIndex) write(dir string) error {
	return errors.Wrap(checkpoint.WriteFileAtomic(filepath.Join(dir, shardIndexName), func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(x)
	}), "shards")
}
