package data

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shardsIn returns options for the token shards in these paths.
func shardsIn(paths ...string) Options {
	return Options{Source: Shards{}, Paths: paths, Split: "none"}
}

// twelveTexts returns options for a corpus of twelve texts of 4 tokens.
func twelveTexts(t *testing.T) Options {
	t.Helper()
	files := map[string]string{}
	for i := range 12 {
		files[fmt.Sprintf("%02d.txt", i)] = fmt.Sprintf("t%02d", i)
	}
	return filesIn(writeFiles(t, files))
}

// prepared prepares a corpus into a folder, in shards of at most shardTokens; 0: the default.
func prepared(t *testing.T, dir string, o Options, shardTokens int) (Prepared, error) {
	t.Helper()
	p, err := NewPreparation(t.Context(), PrepareOptions{Options: o, Dir: dir, ShardTokens: shardTokens})
	if err != nil {
		return Prepared{}, err
	}
	return p.Run(t.Context())
}

func namesIn(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestShardsRoundTrip(t *testing.T) {
	for _, tokenizer := range TokenizerNames() {
		texts := twelveTexts(t)
		texts.Tokenizer, texts.Split = tokenizer, "none"
		dir := filepath.Join(t.TempDir(), "new", "shards")
		written, err := prepared(t, dir, texts, 20)
		require.NoError(t, err)
		read, err := ReadPrepared(dir)
		require.NoError(t, err)
		assert.Equal(t, written, read)
		want := load(t, texts)
		assert.Equal(t, Counts{12, int64(want.Train.Tokens.Len()), 36}, written.Train)

		for _, path := range []string{dir, filepath.Join(dir, "*.tokens")} {
			o := shardsIn(path)
			o.Tokenizer = tokenizer
			got := load(t, o)
			assert.Equal(t, want.Train, got.Train)
			assert.Equal(t, want.Fingerprint, got.Fingerprint)
		}
	}
}

func TestShardsAreCutBetweenDocuments(t *testing.T) {
	dir := t.TempDir()
	texts := filesIn(writeFiles(t, map[string]string{"a": "\x01\x02", "b": "\x03", "c": "\x04", "d": "\x05\x06\x07\x08\x09\x0a", "e": "\x0b"}))
	texts.Split = "none"
	index, err := prepared(t, dir, texts, 5)
	require.NoError(t, err)
	require.Len(t, index.Shards, 4)
	assert.Equal(t, []string{".lock", "all-00000.tokens", "all-00001.tokens", "all-00002.tokens", "all-00003.tokens", "meta.json"}, namesIn(t, dir))
	for i, want := range []string{"\x00\x01\x01\x00\x02\x00\x00\x01\x03\x00", "\x00\x01\x04\x00", "\x00\x01\x05\x00\x06\x00\x07\x00\x08\x00\x09\x00\x0a\x00", "\x00\x01\x0b\x00"} {
		got, err := os.ReadFile(filepath.Join(dir, index.Shards[i].Name))
		require.NoError(t, err)
		assert.Equal(t, want, string(got[shardHeaderSize:]))
		assert.Equal(t, "RESTOKEN\x01\x00\x00\x00\x01\x01\x00\x00", string(got[:16]))
		assert.EqualValues(t, len(want)/2, index.Shards[i].Tokens)
	}
}

// Documents of shards are named "file#index"; if the shards have no split of their own, the split
// follows these names.
func TestShardNamesAndSplit(t *testing.T) {
	dir := t.TempDir()
	o := twelveTexts(t)
	o.Split = "none"
	_, err := prepared(t, dir, o, 20)
	require.NoError(t, err)
	var names []string
	require.NoError(t, eachDocument(t.Context(), newShardSource([]string{dir}, byteTokenizer{}), byteTokenizer{}, 2, func(d Document) error {
		names = append(names, d.Name)
		return nil
	}))
	assert.Equal(t, strings.Fields("all-00000.tokens#0 all-00000.tokens#1 all-00000.tokens#2 all-00000.tokens#3 all-00000.tokens#4 "+
		"all-00001.tokens#0 all-00001.tokens#1 all-00001.tokens#2 all-00001.tokens#3 all-00001.tokens#4 all-00002.tokens#0 all-00002.tokens#1"), names)
	o = shardsIn(dir)
	o.Split = "hash/3"
	c := load(t, o)
	var val []string
	for i, name := range names {
		if (splitRule{splitHash, 3}).holdsOut(Document{Name: name}) {
			val = append(val, fmt.Sprintf("t%02d", i))
		}
	}
	require.NotEmpty(t, val)
	assert.Equal(t, val, texts(c.Tokenizer, c.Val))
	assert.Equal(t, 12-len(val), c.Train.Documents)
}

// A prepared split is kept, whatever fraction the options ask for; it depends on the text, so that
// equal documents are on the same side.
func TestPreparedSplit(t *testing.T) {
	o := twelveTexts(t)
	o.Split = "hash/3"
	dir := t.TempDir()
	meta, err := prepared(t, dir, o, 0)
	require.NoError(t, err)
	require.Equal(t, "hash/3", meta.Split)
	require.Positive(t, meta.Validation.Documents)
	require.EqualValues(t, 12, meta.Train.Documents+meta.Validation.Documents)
	assert.Equal(t, []string{".lock", "meta.json", "train-00000.tokens", "val-00000.tokens"}, namesIn(t, dir))
	var val []string
	for i := range 12 {
		if text := fmt.Sprintf("t%02d", i); (splitRule{splitHash, 3}).validation(sha256.Sum256([]byte(text))) {
			val = append(val, text)
		}
	}
	for _, split := range []string{"", "hash/2"} {
		read := shardsIn(dir)
		read.Split = split
		c := load(t, read)
		assert.Equal(t, val, texts(c.Tokenizer, c.Val))
		assert.Equal(t, 12-len(val), c.Train.Documents)
	}
	c := load(t, shardsIn(dir))
	assert.Equal(t, 12, c.Train.Documents, "none")
	assert.True(t, HasShards(dir))
	assert.True(t, HasShards(filepath.Join(dir, "val-*.tokens")))
	assert.False(t, HasShards(filepath.Dir(dir)))
	described := writeFiles(t, map[string]string{"meta.json": `{"license": "MIT"}`, "a.txt": "text"})
	assert.False(t, HasShards(described), "a folder of texts that somebody has described")
	c = load(t, shardsIn(filepath.Join(dir, "val-*.tokens")))
	assert.Equal(t, val, texts(c.Tokenizer, c.Train))
}

func TestShardErrors(t *testing.T) {
	root := writeFiles(t, map[string]string{
		"odd.bin": "\x00\x01x", "empty.bin": "", "noBOS.bin": "\x07\x00\x00\x01", "large.bin": "\x00\x01\x01\x00\x01\x01", "plain/a.bin": "\x00\x01",
		"unfinished.tokens": strings.Repeat("\x00", 200), "short.tokens": "RESTOKEN", "former/shards.json": "{}", "begun/.prepare.json": "{}",
		"bad/meta.json": "{", "extra/meta.json": `{"tokenizer":"bytes","colour":1}`, "none/meta.json": `{"version":1,"tokenizer":"bytes"}`, "later/meta.json": `{"version":2}`,
		"outside/meta.json": `{"version":1,"shards":[{"name":"../odd.bin"}]}`,
	})
	for name, fragment := range map[string]string{
		"odd.bin":           "odd.bin: want tokens of 2 bytes each, got 3 bytes",
		"empty.bin":         "empty.bin: want tokens of 2 bytes each, got 0 bytes",
		"noBOS.bin":         `noBOS.bin: want the first token to be BOS (256) of tokenizer "bytes", got 7: shards are raw little-endian integers of 2 bytes without a header, and every document begins with BOS`,
		"large.bin":         `large.bin: token 2: want ids below 257 (tokenizer "bytes"), got 257: was it made with another tokenizer?`,
		"unfinished.tokens": "unfinished.tokens: want a finished shard, got one whose header is not written yet: run prepare again to finish it",
		"short.tokens":      "short.tokens: want a header of 128 bytes, got 8: the file is damaged",
		"plain":             "plain: want meta.json in a folder of shards, found none: another program has made it; name its files by a glob (",
		"former":            "former: want meta.json in a folder of shards, got shards.json: an earlier version has written it: name its files by a glob (",
		"begun":             "begun: want meta.json in a folder of shards, got .prepare.json: prepare has not finished it: run the same command again",
		"bad":               "meta.json: want what prepare writes: unexpected EOF",
		"extra":             `meta.json: want what prepare writes: json: unknown field "colour"`,
		"none":              "meta.json: want at least one shard, it lists none",
		"later":             "meta.json: want version 1, got 2: a later Residua has written it",
		"outside":           `meta.json: want names of files in the same folder, got "../odd.bin"`,
		"missing":           "missing: no such file or folder",
	} {
		assert.Contains(t, strings.ReplaceAll(loadError(t, shardsIn(filepath.Join(root, name))), "bin) to read", "bin), or"), fragment, name)
	}
}

func TestShardsOfAnotherTokenizer(t *testing.T) {
	dir := t.TempDir()
	_, err := prepared(t, dir, twelveTexts(t), 0)
	require.NoError(t, err)
	o := shardsIn(dir)
	o.Tokenizer = "gpt2"
	assert.Contains(t, loadError(t, o), `want shards of tokenizer "gpt2", these were made with "bytes": set data.tokenizer: bytes, or prepare them anew`)
	o = shardsIn(filepath.Join(dir, "*.tokens"))
	o.Tokenizer = "gpt2"
	assert.Contains(t, loadError(t, o), `want tokens of tokenizer "gpt2" (50257 ids, digest `)
	assert.Contains(t, loadError(t, o), `got those of another (257 ids, digest `)
}

// Each part of a shard is checked: its header against its size and tokens, and the folder's list
// against the shard.
func TestDamagedShards(t *testing.T) {
	dir, o := t.TempDir(), twelveTexts(t)
	o.Split = "none"
	meta, err := prepared(t, dir, o, 20)
	require.NoError(t, err)
	path := filepath.Join(dir, "all-00001.tokens")
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	other, err := os.ReadFile(filepath.Join(dir, meta.Shards[0].Name))
	require.NoError(t, err)
	changed := func(at int, value byte) string {
		damaged := slices.Clone(whole)
		damaged[at] = value
		return string(damaged)
	}
	for name, c := range map[string]struct{ content, want string }{
		"a token":      {changed(shardHeaderSize+4, whole[shardHeaderSize+4]^1), "want sha256 "},
		"cut short":    {string(whole[:len(whole)-2]), "want 20 tokens of 2 bytes, as its header says, got 38 bytes: the file is damaged, prepare it anew"},
		"version":      {changed(8, 9), "want a shard of version 1, got version 9"},
		"side":         {changed(96, 3), "want a split from 0 to 2 in its header, got 3"},
		"no tokens":    {changed(16, 0), "want at least one token and one document, got 0 and 5"},
		"documents":    {changed(24, 4), "want the shard that meta.json lists (20 tokens, 5 documents, "},
		"tokenizer":    {changed(40, whole[40]^1), `want tokens of tokenizer "bytes" (257 ids, digest `},
		"another one":  {string(other), "want the shard that meta.json lists (20 tokens, 5 documents, "},
		"header alone": {string(whole[:shardHeaderSize]), "want 20 tokens of 2 bytes, as its header says, got 0 bytes"},
		"raw tokens":   {string(whole[shardHeaderSize:]), "want the shard that meta.json lists (20 tokens, 5 documents, "},
	} {
		require.NoError(t, os.WriteFile(path, []byte(c.content), 0o644))
		message := loadError(t, shardsIn(dir))
		assert.Contains(t, message, "all-00001.tokens: ", name)
		assert.Contains(t, message, c.want, name)
		assert.NotContains(t, message, "\n")
	}
	require.NoError(t, os.WriteFile(path, []byte(changed(24, 4)), 0o644))
	assert.Contains(t, loadError(t, shardsIn(path)), "want 4 documents, as its header says, got 5: the file is damaged")
	require.NoError(t, os.Remove(path))
	assert.Contains(t, loadError(t, shardsIn(dir)), "all-00001.tokens: no such file or directory")
}

// The content of a meta.json is checked on its own.
func TestMetaIsChecked(t *testing.T) {
	texts := twelveTexts(t)
	texts.Split = "none"
	dir := t.TempDir()
	whole, err := prepared(t, dir, texts, 20)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		lie  func(*Prepared)
		want string
	}{
		"sum of tokens":    {func(x *Prepared) { x.Train.Tokens++ }, "meta.json: want 48 tokens in 12 documents, the sums of its shards, got 49 in 12: it is damaged"},
		"sum of documents": {func(x *Prepared) { x.Train.Documents = 1 << 62 }, "meta.json: want 48 tokens in 12 documents, the sums of its shards, got 48 in 4611686018427387904"},
		"too many tokens":  {func(x *Prepared) { x.Shards[1].Tokens = 1 << 62 }, " tokens in 12 documents, the sums of its shards, got 48 in 12: it is damaged"},
		"no documents":     {func(x *Prepared) { x.Shards[2].Documents = 0 }, `meta.json: "all-00002.tokens": want at least one token and one document, got 8 and 0`},
		"twice":            {func(x *Prepared) { x.Shards[1] = x.Shards[0] }, `meta.json: want every shard once, it lists "all-00000.tokens" twice`},
	} {
		lying := whole
		lying.Shards = slices.Clone(whole.Shards)
		c.lie(&lying)
		text, err := json.Marshal(lying)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, metaName), text, 0o644))
		assert.Contains(t, loadError(t, shardsIn(dir)), c.want, name)
	}
	text, err := json.Marshal(whole)
	require.NoError(t, err)
	for _, junk := range []string{"{}", "x", "]", "\x00"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, metaName), append(slices.Clone(text), junk...), 0o644))
		assert.Contains(t, loadError(t, shardsIn(dir)), "meta.json: want one JSON object and nothing after it, got more from byte ", junk)
	}
}

// If somebody cuts a shard short after it was opened, reading it is an ordinary error, which the
// program survives.
func TestShardCutWhileItIsRead(t *testing.T) {
	for _, rest := range []int64{0, 3, shardBlock + 100} {
		path := filepath.Join(t.TempDir(), "a.bin")
		shard := strings.Repeat("\x00\x01a\x00", 2*shardBlock/4) + strings.Repeat("\x00\x01b\x00", 2*shardBlock/4)
		require.NoError(t, os.WriteFile(path, []byte(shard), 0o644))
		source, seen := newShardSource([]string{path}, byteTokenizer{}), 0
		err := source.Read(t.Context(), File{Name: "a.bin", Disk: path}, nil, func(Document) error {
			seen++
			if seen > 1 {
				return nil
			}
			return os.Truncate(path, rest)
		})
		assert.ErrorContains(t, err, fmt.Sprintf("a.bin: want %d tokens, as its size was when it was opened, got ", len(shard)/2))
		assert.ErrorContains(t, err, ": the file was cut short while it was read")
		assert.Positive(t, seen)
	}
}
