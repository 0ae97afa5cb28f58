package data

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/regular"
)

const (
	// metaName is the name of the file that describes a folder of shards. It is written last: a
	// folder without it is unfinished.
	metaName = "meta.json"
	// tokenizerName is the name of the file of a tokenizer that a Preparation has trained.
	tokenizerName = "tokenizer.json"
	// formerIndexName was its name before shards had headers.
	formerIndexName = "shards.json"
	// shardExtension ends the names of shards that Preparation.Run writes.
	shardExtension = ".tokens"

	metaVersion  = 1
	maxMetaBytes = 16 << 20 // about 100,000 shards
)

// Prepared describes a folder that Preparation.Run has filled; it is the folder's meta.json.
type Prepared struct {
	Version         int    `json:"version"`          // 1
	Tokenizer       string `json:"tokenizer"`        // its name; tokenizer.json: the file of that name in the folder
	TokenizerSHA256 string `json:"tokenizer_sha256"` // Digest in hex
	Vocab           int    `json:"vocab"`
	Split           string `json:"split"` // as in Options.Split, applied to the SHA-256 of a document's text
	Statistics
	Shards []ShardInfo `json:"shards"` // ordered by name
}

// Statistics says what a Preparation has found in a corpus.
type Statistics struct {
	Train         Counts  `json:"train"` // with split none, all documents
	Validation    Counts  `json:"validation"`
	BytesPerToken float64 `json:"bytes_per_token"` // of text, on average; a document's BOS counts as a token
	Duplicates    int64   `json:"duplicates"`      // documents that were dropped because an equal one came before
	Blank         int64   `json:"blank"`           // records (lines, rows) without a text, or with an empty one, which were left out
	NotUTF8       int64   `json:"not_utf8"`        // documents with bytes that are not UTF-8, which are kept as they are
	Longest       Longest `json:"longest"`         // the document of the most tokens
}

// Counts are sums over documents.
type Counts struct {
	Documents int64 `json:"documents"`
	Tokens    int64 `json:"tokens"`
	TextBytes int64 `json:"text_bytes"`
}

// Longest names a document with its lengths.
type Longest struct {
	Name      string `json:"name"`
	Tokens    int64  `json:"tokens"`
	TextBytes int64  `json:"text_bytes"`
}

// ShardInfo describes one shard.
type ShardInfo struct {
	Name      string `json:"name"` // in the folder
	Tokens    int64  `json:"tokens"`
	Documents int64  `json:"documents"`
	SHA256    string `json:"sha256"` // of its tokens, in hex
}

// ReadPrepared reads the meta.json of a folder that Preparation.Run has filled. It checks the
// counts in it; whether the shards match is checked when they are loaded.
func ReadPrepared(dir string) (Prepared, error) {
	path := filepath.Join(dir, metaName)
	text, err := regular.Read(path, maxMetaBytes)
	if errors.Is(err, os.ErrNotExist) {
		return Prepared{}, errNoMeta(dir)
	}
	if err != nil {
		return Prepared{}, err
	}
	var meta Prepared
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&meta); err != nil {
		return Prepared{}, errors.Wrapf(err, "%s: want what prepare writes", path)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return Prepared{}, errors.Errorf("%s: want one JSON object and nothing after it, got more from byte %d: it is damaged, prepare the text anew", path,
			decoder.InputOffset())
	}
	return meta, errors.Wrap(meta.check(), path)
}

// tokenizerPath returns the name of the tokenizer for a program that finds the folder at dir.
func (p Prepared) tokenizerPath(dir string) string {
	if p.Tokenizer == tokenizerName {
		return filepath.Join(dir, tokenizerName)
	}
	return p.Tokenizer
}

func errNoMeta(dir string) error {
	for name, why := range map[string]string{
		stateName:       "prepare has not finished it: run the same command again",
		formerIndexName: "an earlier version has written it: name its files by a glob (" + filepath.Join(dir, "*.bin") + "), or prepare the text anew",
	} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return errors.Errorf("%s: want %s in a folder of shards, got %s: %s", dir, metaName, name, why)
		}
	}
	return errors.Errorf("%s: want %s in a folder of shards, found none: another program has made it; name its files by a glob (%s) to read them as they are",
		dir, metaName, filepath.Join(dir, "*.bin"))
}

// HasShards tells whether a path is a folder of shards with their metaName, or names shards by
// their extension.
func HasShards(path string) bool {
	if filepath.Ext(path) == shardExtension {
		return true
	}
	if _, err := os.Stat(filepath.Join(path, metaName)); err != nil {
		return false
	}
	entries, _ := os.ReadDir(path)
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return filepath.Ext(e.Name()) == shardExtension })
}

// check returns an error if the description is impossible or contradicts itself.
func (p Prepared) check() error {
	const damaged = "it is damaged, prepare the text anew"
	if p.Version != metaVersion {
		return errors.Errorf("want version %d, got %d: a later Residua has written it", metaVersion, p.Version)
	}
	if len(p.Shards) == 0 {
		return errors.New("want at least one shard, it lists none")
	}
	seen := make(map[string]bool, len(p.Shards))
	var tokens, documents int64
	for _, shard := range p.Shards {
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
	all := p.Train.plus(p.Validation)
	if tokens != all.Tokens || documents != all.Documents {
		return errors.Errorf("want %d tokens in %d documents, the sums of its shards, got %d in %d: %s", tokens, documents, all.Tokens, all.Documents, damaged)
	}
	return nil
}

func (c Counts) plus(d Counts) Counts {
	return Counts{c.Documents + d.Documents, c.Tokens + d.Tokens, c.TextBytes + d.TextBytes}
}

// add counts a document.
func (s *Statistics) add(d Document) {
	one := Counts{1, int64(d.Tokens.Len()), d.content.bytes}
	if d.side == sideValidation {
		s.Validation = s.Validation.plus(one)
	} else {
		s.Train = s.Train.plus(one)
	}
	if !d.content.utf8 {
		s.NotUTF8++
	}
	if one.Tokens > s.Longest.Tokens {
		s.Longest = Longest{d.Name, one.Tokens, one.TextBytes}
	}
	all := s.Train.plus(s.Validation)
	s.BytesPerToken = float64(all.TextBytes) / float64(all.Tokens)
}
