package data

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/pkg/errors"
)

// shardIndexName is the file that lists the shards of a folder. It is written
// last: a folder without it is unfinished.
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

// ReadShardIndex reads the index of a folder that WriteShards filled.
func ReadShardIndex(dir string) (ShardIndex, error) {
	var index ShardIndex
	path := filepath.Join(dir, shardIndexName)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return index, errors.Errorf("%s: want %s in a folder of shards, found none: it is unfinished or was made by another program; name its files by a glob (%s) to read them as they are",
			dir, shardIndexName, filepath.Join(dir, "*.bin"))
	}
	if err != nil {
		return index, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&index); err != nil {
		return index, errors.Wrapf(err, "%s: want an index of shards", path)
	}
	if len(index.Shards) == 0 {
		return index, errors.Errorf("%s: want at least one shard, it lists none", path)
	}
	for _, shard := range index.Shards {
		if filepath.Base(shard.Name) != shard.Name || !filepath.IsLocal(shard.Name) {
			return index, errors.Errorf("%s: want names of files in the same folder, got %q", path, shard.Name)
		}
	}
	return index, nil
}

// write puts the index into a folder.
func (x ShardIndex) write(dir string) error {
	text, err := json.MarshalIndent(x, "", "  ")
	if err != nil {
		return err
	}
	f, err := createAtomic(filepath.Join(dir, shardIndexName))
	if err != nil {
		return err
	}
	if _, err := f.Write(append(text, '\n')); err != nil {
		return f.abandon(err)
	}
	return f.commit()
}
