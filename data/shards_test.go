package data

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pkg/errors"
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
		texts.Tokenizer = tokenizer
		dir := filepath.Join(t.TempDir(), "new", "shards")
		written, err := WriteShards(t.Context(), dir, texts, 20)
		require.NoError(t, err)
		read, err := ReadShardIndex(dir)
		require.NoError(t, err)
		assert.Equal(t, written, read)
		want := load(t, texts)
		assert.EqualValues(t, want.Train.Tokens.Len(), written.Tokens)
		assert.EqualValues(t, 12, written.Documents)

		for _, path := range []string{dir, filepath.Join(dir, "*.bin")} {
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
	index, err := WriteShards(t.Context(), dir, texts, 5)
	require.NoError(t, err)
	require.Len(t, index.Shards, 4)
	assert.Equal(t, []string{"shard-00000.bin", "shard-00001.bin", "shard-00002.bin", "shard-00003.bin", "shards.json"}, namesIn(t, dir))
	for i, want := range []string{"\x00\x01\x01\x00\x02\x00\x00\x01\x03\x00", "\x00\x01\x04\x00", "\x00\x01\x05\x00\x06\x00\x07\x00\x08\x00\x09\x00\x0a\x00", "\x00\x01\x0b\x00"} {
		got, err := os.ReadFile(filepath.Join(dir, index.Shards[i].Name))
		require.NoError(t, err)
		assert.Equal(t, want, string(got))
		assert.EqualValues(t, len(want)/2, index.Shards[i].Tokens)
	}
}

// Documents of shards are named "file#index" and split by that.
func TestShardNamesAndSplit(t *testing.T) {
	dir := t.TempDir()
	_, err := WriteShards(t.Context(), dir, twelveTexts(t), 20)
	require.NoError(t, err)
	var names []string
	require.NoError(t, eachDocument(t.Context(), newShardSource([]string{dir}, byteTokenizer{}), byteTokenizer{}, 2, func(d Document) error {
		names = append(names, d.Name)
		return nil
	}))
	assert.Equal(t, strings.Fields("shard-00000.bin#0 shard-00000.bin#1 shard-00000.bin#2 shard-00000.bin#3 shard-00000.bin#4 "+
		"shard-00001.bin#0 shard-00001.bin#1 shard-00001.bin#2 shard-00001.bin#3 shard-00001.bin#4 shard-00002.bin#0 shard-00002.bin#1"), names)
	o := shardsIn(dir)
	o.Split = "hash/3"
	c := load(t, o)
	var val []string
	for i, name := range names {
		if (splitRule{splitHash, 3}).validation(name) {
			val = append(val, fmt.Sprintf("t%02d", i))
		}
	}
	require.NotEmpty(t, val)
	assert.Equal(t, val, texts(c.Tokenizer, c.Val))
	assert.Equal(t, 12-len(val), c.Train.Documents)
}

func TestShardErrors(t *testing.T) {
	root := writeFiles(t, map[string]string{
		"odd.bin": "\x00\x01x", "empty.bin": "", "noBOS.bin": "\x07\x00\x00\x01", "large.bin": "\x00\x01\x01\x00\x01\x01", "plain/a.bin": "\x00\x01",
		"bad/shards.json": "{", "extra/shards.json": `{"tokenizer":"bytes","colour":1}`, "none/shards.json": `{"tokenizer":"bytes"}`,
		"outside/shards.json": `{"tokenizer":"bytes","shards":[{"name":"../odd.bin"}]}`,
		"gone/shards.json":    `{"tokenizer":"bytes","vocab":257,"tokens":1,"documents":1,"shards":[{"name":"a.bin","tokens":1,"documents":1}]}`,
	})
	for name, fragment := range map[string]string{
		"odd.bin":   "odd.bin: want tokens of 2 bytes each, got 3 bytes",
		"empty.bin": "empty.bin: want tokens of 2 bytes each, got 0 bytes",
		"noBOS.bin": `noBOS.bin: want the first token to be BOS (256) of tokenizer "bytes", got 7: shards are raw little-endian integers of 2 bytes without a header, and every document begins with BOS`,
		"large.bin": `large.bin: token 2: want ids below 257 (tokenizer "bytes"), got 257: was it made with another tokenizer?`,
		"plain":     "plain: want shards.json in a folder of shards, found none: it is unfinished or was made by another program; name its files by a glob (",
		"bad":       "shards.json: want an index of shards: unexpected EOF",
		"extra":     `shards.json: want an index of shards: json: unknown field "colour"`,
		"none":      "shards.json: want at least one shard, it lists none",
		"outside":   `shards.json: want names of files in the same folder, got "../odd.bin"`,
		"gone":      "a.bin: no such file or directory",
		"missing":   "missing: no such file or folder",
	} {
		assert.Contains(t, loadError(t, shardsIn(filepath.Join(root, name))), fragment, name)
	}
}

func TestShardsOfAnotherTokenizer(t *testing.T) {
	dir := t.TempDir()
	_, err := WriteShards(t.Context(), dir, twelveTexts(t), 0)
	require.NoError(t, err)
	o := shardsIn(dir)
	o.Tokenizer = "gpt2"
	assert.Contains(t, loadError(t, o), `want shards of tokenizer "gpt2", these were made with "bytes": set data.tokenizer: bytes, or prepare them anew`)
	o = shardsIn(filepath.Join(dir, "*.bin"))
	o.Tokenizer = "gpt2"
	assert.Contains(t, loadError(t, o), `want the first token to be BOS (50256) of tokenizer "gpt2", got 256`)
}

func TestDamagedShards(t *testing.T) {
	dir := t.TempDir()
	_, err := WriteShards(t.Context(), dir, twelveTexts(t), 20)
	require.NoError(t, err)
	path := filepath.Join(dir, "shard-00001.bin")
	whole, err := os.ReadFile(path)
	require.NoError(t, err)

	flipped := append([]byte{}, whole...)
	flipped[4] ^= 1
	require.NoError(t, os.WriteFile(path, flipped, 0o644))
	message := loadError(t, shardsIn(dir))
	assert.Contains(t, message, "shard-00001.bin: want sha256 ")
	assert.Contains(t, message, "the file is damaged, prepare the shards anew")

	require.NoError(t, os.WriteFile(path, whole[:len(whole)-2], 0o644))
	assert.Contains(t, loadError(t, shardsIn(dir)), "shard-00001.bin: want 20 tokens, as shards.json says, got 19: the file is damaged")
}

// An index is checked in itself and against the tokenizer and the files.
func TestShardIndexIsCheckedAgainstTheFiles(t *testing.T) {
	texts := twelveTexts(t)
	for name, c := range map[string]struct {
		lie  func(*ShardIndex)
		want string
	}{
		"vocabulary":       {func(x *ShardIndex) { x.Vocab = 50257 }, `shards.json: want vocab 257, that of tokenizer "bytes", got 50257: it is damaged, prepare the shards anew`},
		"sum of tokens":    {func(x *ShardIndex) { x.Tokens++ }, "shards.json: want 48 tokens in 12 documents, the sums of its shards, got 49 in 12: it is damaged"},
		"sum of documents": {func(x *ShardIndex) { x.Documents = 1 << 62 }, "shards.json: want 48 tokens in 12 documents, the sums of its shards, got 48 in 4611686018427387904"},
		"too many tokens":  {func(x *ShardIndex) { x.Shards[1].Tokens = 1 << 62 }, " tokens in 12 documents, the sums of its shards, got 48 in 12: it is damaged"},
		"no documents":     {func(x *ShardIndex) { x.Shards[2].Documents = 0 }, `shards.json: "shard-00002.bin": want at least one token and one document, got 8 and 0`},
		"negative":         {func(x *ShardIndex) { x.Shards[0].Documents = -5 }, "want at least one token and one document, got 20 and -5"},
		"documents":        {func(x *ShardIndex) { x.Shards[0].Documents, x.Documents = 4, 11 }, "shard-00000.bin: want 4 documents, as shards.json says, got 5: the index is damaged"},
		"tokens":           {func(x *ShardIndex) { x.Shards[0].Tokens, x.Tokens = 21, 49 }, "shard-00000.bin: want 21 tokens, as shards.json says, got 20"},
		"twice":            {func(x *ShardIndex) { x.Shards[1] = x.Shards[0] }, `shards.json: want every shard once, it lists "shard-00000.bin" twice`},
	} {
		dir := t.TempDir()
		index, err := WriteShards(t.Context(), dir, texts, 20)
		require.NoError(t, err)
		c.lie(&index)
		require.NoError(t, index.write(dir))
		assert.Contains(t, loadError(t, shardsIn(dir)), c.want, name)
	}
}

func TestShardIndexEndsWithItsObject(t *testing.T) {
	for _, junk := range []string{"{}", "x", "]", "\x00"} {
		dir := t.TempDir()
		_, err := WriteShards(t.Context(), dir, twelveTexts(t), 0)
		require.NoError(t, err)
		path := filepath.Join(dir, "shards.json")
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, append(text, junk...), 0o644))
		assert.Contains(t, loadError(t, shardsIn(dir)), "shards.json: want an index of shards and nothing after it, got more from byte ", junk)
	}
}

// A shard that somebody cuts short after it was opened is an error like another,
// which the program survives.
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

func TestWriteShardsRefusesFullFolder(t *testing.T) {
	dir := t.TempDir()
	_, err := WriteShards(t.Context(), dir, twelveTexts(t), 0)
	require.NoError(t, err)
	_, err = WriteShards(t.Context(), dir, twelveTexts(t), 0)
	assert.EqualError(t, err, "shards: "+dir+": want a folder without shards, it holds shard-00000.bin: remove it or write elsewhere")
	_, err = WriteShards(t.Context(), t.TempDir(), twelveTexts(t), -1)
	assert.EqualError(t, err, "shards: want at least 1 token a shard, got -1")
}

// After an error the folder is as before.
func TestWriteShardsLeavesNothingBehind(t *testing.T) {
	files := writeFiles(t, map[string]string{"a.txt": strings.Repeat("a", 1<<17), "b.txt": strings.Repeat("b", 1<<17), "c.txt": "\x00"})
	dir := t.TempDir()
	_, err := WriteShards(t.Context(), dir, filesIn(files), 1000)
	require.ErrorContains(t, err, "c.txt: want text in UTF-8")
	assert.Empty(t, namesIn(t, dir))

	_, err = WriteShards(t.Context(), dir, filesIn(writeFiles(t, map[string]string{"a.txt": ""})), 0)
	require.ErrorContains(t, err, "data.source files: empty corpus: no text in any file of data.path [")
	assert.Empty(t, namesIn(t, dir))

	// A folder that goes away meanwhile is an error.
	w := shardWriter{dir: dir, most: 12, index: ShardIndex{Tokenizer: "bytes", Vocab: 257}}
	require.NoError(t, w.add(Document{"a", narrow(256, 1, 2)}))
	require.NoError(t, w.finish())
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, w.add(Document{"b", narrow(256, 1)}))
	require.ErrorContains(t, w.finish(), "shards: cannot write "+filepath.Join(dir, "shard-00001.bin"))
	require.ErrorContains(t, w.failed(errors.New("the reason")), "it was to be removed because of: the reason")
}
