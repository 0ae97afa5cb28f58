package data

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/internal/crash"
	"github.com/residua-go/residua/internal/longtest"
)

// variedTexts returns a corpus of several files with duplicates and one long document.
func variedTexts(t *testing.T) Options {
	t.Helper()
	files := map[string]string{"z.txt": strings.Repeat("a long document ", 40)}
	lines := ""
	for i := range 30 {
		lines += fmt.Sprintf(`{"body":"line %d of many"}`+"\n", i%20)
	}
	files["lines.jsonl"] = lines
	for i := range 6 {
		files[fmt.Sprintf("%d.md", i)] = fmt.Sprintf("# text %d\nabc abc abcd\n", i/2)
	}
	o := filesIn(writeFiles(t, files))
	o.TextField, o.Split = "body", "hash/4"
	return o
}

// varied returns options that prepare variedTexts in small shards.
func varied(o Options, dir string) PrepareOptions {
	o.Tokenizer = trainedPrefix + "262"
	return PrepareOptions{Options: o, Dir: dir, ShardTokens: 100, Dedupe: true, SaveEvery: -1}
}

func prepareWith(t *testing.T, o PrepareOptions) (Prepared, error) {
	t.Helper()
	p, err := NewPreparation(t.Context(), o)
	require.NoError(t, err)
	return p.Run(t.Context())
}

// contentOf returns the contents of a folder's files except the lock, which means nothing.
func contentOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, name := range namesIn(t, dir) {
		if name != checkpoint.LockName {
			content, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err)
			all[name] = string(content)
		}
	}
	return all
}

func TestPreparedStatistics(t *testing.T) {
	o := filesIn(writeFiles(t, map[string]string{"a.txt": "same", "b.txt": "same", "c.txt": "other text", "d.txt": "caf\xe9", "e.txt": "same"}))
	p, err := NewPreparation(t.Context(), PrepareOptions{Options: o, Dir: t.TempDir(), Dedupe: true})
	require.NoError(t, err)
	meta, err := p.Run(t.Context())
	require.NoError(t, err)
	assert.Equal(t, Statistics{
		Train: Counts{Documents: 3, Tokens: 21, TextBytes: 18}, BytesPerToken: 18.0 / 21, Duplicates: 2, NotUTF8: 1,
		Longest: Longest{"c.txt", 11, 10},
	}, meta.Statistics)
	read := shardsIn(p.Dir)
	assert.Equal(t, []string{"same", "other text", "caf\xe9"}, texts(byteTokenizer{}, load(t, read).Train), "bytes that are not UTF-8 are kept")

	twice := PrepareOptions{Options: o, Dir: t.TempDir()}
	meta, err = prepareWith(t, twice)
	require.NoError(t, err)
	assert.EqualValues(t, 5, meta.Train.Documents)
	assert.Zero(t, meta.Duplicates)
}

func TestPreparedBytesDependOnTheTextAlone(t *testing.T) {
	o := variedTexts(t)
	first := varied(o, t.TempDir())
	meta, err := prepareWith(t, first)
	require.NoError(t, err)
	want := contentOf(t, first.Dir)
	assert.EqualValues(t, 13, meta.Duplicates)
	assert.Greater(t, len(meta.Shards), 4)
	assert.Positive(t, meta.Validation.Documents)
	assert.NotContains(t, want, stateName)
	assert.NotContains(t, want, seenName)
	for _, threads := range []int{1, 7} {
		again := varied(o, t.TempDir())
		again.Threads, again.SaveEvery = threads, time.Hour
		var last PrepareProgress
		again.Progress = func(p PrepareProgress) { last = p }
		_, err := prepareWith(t, again)
		require.NoError(t, err)
		assert.Equal(t, want, contentOf(t, again.Dir))
		assert.Equal(t, last.Files, last.Read)
		assert.False(t, last.Training)
	}
}

// TestRobustnessOfPrepare: a preparation that is interrupted at any step of its disk leaves a
// folder that says that it is unfinished, and the same call then writes the same bytes as one
// without interruption.
func TestRobustnessOfPrepare(t *testing.T) {
	points := 5
	if longtest.Exhaustive() { // the campaign of make robustness has others
		points = 50
	}
	o := variedTexts(t)
	finished := func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, metaName))
		return err == nil
	}
	loaded := func(dir string) error {
		_, err := Load(t.Context(), Options{Source: Shards{}, Paths: []string{dir}, Tokenizer: filepath.Join(dir, "tokenizer.json")})
		return err
	}
	crash.Test(t, crash.Work{
		Name: "prepare",
		Do: func(dir string, disk checkpoint.Disk) error {
			if finished(dir) { // only the state of the work may be left
				return loaded(dir)
			}
			unfinished := varied(o, dir)
			unfinished.Disk = disk
			p, err := NewPreparation(t.Context(), unfinished)
			if err != nil {
				return err
			}
			_, err = p.Run(t.Context())
			return err
		},
		Left: func(dir string) map[string]string {
			left := contentOf(t, dir)
			delete(left, stateName)
			delete(left, seenName)
			return left
		},
		Check: func(dir string) error {
			if !finished(dir) && loaded(dir) == nil {
				return errors.New("an unfinished folder is read")
			}
			return nil
		},
	}, points)
}

// TestInterruptedPreparations: an interrupted preparation loses nothing, in whichever file it is
// interrupted.
func TestInterruptedPreparations(t *testing.T) {
	o := variedTexts(t)
	whole := varied(o, t.TempDir())
	_, err := prepareWith(t, whole)
	require.NoError(t, err)
	for _, after := range []int{1, 20, 36} {
		p := varied(o, t.TempDir())
		p.SaveEvery = time.Hour
		ctx, cancel := context.WithCancel(t.Context())
		documents, resumed := 0, int64(-1)
		p.Progress = func(now PrepareProgress) {
			if documents++; !now.Training && ctx.Err() == nil {
				if after--; after <= 0 {
					cancel()
				}
			}
			resumed = now.Resumed
		}
		running, err := NewPreparation(t.Context(), p)
		require.NoError(t, err)
		_, err = running.Run(ctx)
		require.ErrorIs(t, err, context.Canceled)
		first := documents
		_, err = prepareWith(t, p)
		require.NoError(t, err)
		require.Equal(t, contentOf(t, whole.Dir), contentOf(t, p.Dir))
		require.Less(t, documents-first, first, "the tokenizer is not trained again, nor are documents written again")
		require.Equal(t, resumed > 0, first > 40, "bytes of files that were finished before")
	}
}

// TestUnfinishedPreparations: only the same call continues an unfinished preparation; another call
// is refused, or begins anew.
func TestUnfinishedPreparations(t *testing.T) {
	o := variedTexts(t)
	unfinished := func() PrepareOptions {
		p := varied(o, t.TempDir())
		p.Disk = crash.FullAfter(200)
		_, err := prepareWith(t, p)
		require.ErrorContains(t, err, p.Dir+" is unfinished, the same call goes on with it: ")
		p.Disk = checkpoint.Disk{}
		return p
	}
	p := unfinished()
	other := p
	other.Dedupe = false
	_, err := prepareWith(t, other)
	require.ErrorContains(t, err, p.Dir+": an unfinished preparation with other settings, or of files that have changed since, is in it")
	other.Restart = true
	_, err = prepareWith(t, other)
	require.NoError(t, err)
	fresh := other
	fresh.Dir = t.TempDir()
	_, err = prepareWith(t, fresh)
	require.NoError(t, err)
	require.Equal(t, contentOf(t, fresh.Dir), contentOf(t, other.Dir))
	_, err = prepareWith(t, other)
	require.ErrorContains(t, err, "want a folder without shards, it holds meta.json: remove it or write elsewhere", "finished")

	p = unfinished()
	state := filepath.Join(p.Dir, stateName)
	require.NoError(t, os.WriteFile(state, []byte("{"), 0o600))
	_, err = prepareWith(t, p)
	require.ErrorContains(t, err, state+": want the state of an unfinished preparation; discard it by -restart")

	p = unfinished()
	require.NoError(t, os.Truncate(filepath.Join(p.Dir, seenName), 3))
	_, err = prepareWith(t, p)
	require.ErrorContains(t, err, seenName+": want the hashes of ")

	p = unfinished()
	read, err := readPrepareState(p.Dir)
	require.NoError(t, err)
	current := read.Writers[sideTrain].Current.Name
	require.NotEmpty(t, current)
	require.NoError(t, os.Truncate(filepath.Join(p.Dir, current), 1))
	_, err = prepareWith(t, p)
	require.ErrorContains(t, err, current+": want at least ")

	p = unfinished()
	require.NoError(t, os.Remove(filepath.Join(p.Dir, tokenizerName)))
	_, err = prepareWith(t, p)
	require.ErrorContains(t, err, p.Dir+" is unfinished, begin anew by -restart: ")
	require.NotContains(t, err.Error(), "goes on with it")

	require.NoError(t, os.Chtimes(filepath.Join(o.Paths[0], "z.txt"), time.Time{}, time.Unix(1, 0)))
	_, err = prepareWith(t, p)
	require.ErrorContains(t, err, "of files that have changed since")
}

// TestAnInterruptedRestartIsMadeAgain: a call with Restart that dies while it discards what was
// there can be made again.
func TestAnInterruptedRestartIsMadeAgain(t *testing.T) {
	o := variedTexts(t)
	p := varied(o, t.TempDir())
	p.Disk = crash.FullAfter(200)
	_, err := prepareWith(t, p)
	require.ErrorContains(t, err, "the same call goes on with it")
	removed := 0
	p.Restart, p.Disk = true, checkpoint.Disk{Before: func(step, path string) error {
		if step == "remove" && filepath.Dir(path) == p.Dir {
			removed++
		}
		if removed > 2 {
			return errors.New("died")
		}
		return nil
	}}
	_, err = prepareWith(t, p)
	require.ErrorContains(t, err, "died")
	p.Disk = checkpoint.Disk{}
	_, err = prepareWith(t, p)
	require.NoError(t, err)
}

// TestAnUnfinishedFolderInsideThePathIsContinued: a preparation that writes into the folder that it
// reads leaves out what it writes itself, and so finds the same files when it goes on.
func TestAnUnfinishedFolderInsideThePathIsContinued(t *testing.T) {
	for _, within := range []string{".", "shards"} {
		o := variedTexts(t)
		p := varied(o, filepath.Join(o.Paths[0], within))
		p.Disk = crash.FullAfter(200)
		_, err := prepareWith(t, p)
		require.ErrorContains(t, err, "the same call goes on with it")
		require.FileExists(t, filepath.Join(p.Dir, tokenizerName))
		p.Disk = checkpoint.Disk{}
		meta, err := prepareWith(t, p)
		require.NoError(t, err, within)
		elsewhere := varied(o, t.TempDir())
		elsewhere.Paths = variedTexts(t).Paths
		whole, err := prepareWith(t, elsewhere)
		require.NoError(t, err)
		require.Equal(t, whole, meta, within)
	}
}

// TestShardsDeletedMeanwhile: a shard that is deleted while others are written is not missed
// without a word, whether it was finished or not.
func TestShardsDeletedMeanwhile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows deletes no open files")
	}
	o := variedTexts(t)
	for _, oldest := range []bool{true, false} {
		p := varied(o, t.TempDir())
		deleted := false
		p.Progress = func(now PrepareProgress) {
			shards, err := filepath.Glob(filepath.Join(p.Dir, "train-*.tokens"))
			require.NoError(t, err)
			if len(shards) < 2 || deleted {
				return
			}
			deleted = true
			if !oldest {
				shards = shards[len(shards)-1:]
			}
			require.NoError(t, os.Remove(shards[0]))
		}
		_, err := prepareWith(t, p)
		require.True(t, deleted)
		require.ErrorContains(t, err, map[bool]string{true: "a shard has gone since it was written: begin anew by -restart", false: "it was deleted, moved or replaced while it was written"}[oldest])
		p.Progress = nil
		_, err = prepareWith(t, p)
		require.ErrorContains(t, err, "-restart")
		p.Restart = true
		_, err = prepareWith(t, p)
		require.NoError(t, err)
	}
}

func TestPreparationRefuses(t *testing.T) {
	o := twelveTexts(t)
	for want, change := range map[string]func(*PrepareOptions){
		"shards: want at least 1 token a shard, got -1":                                    func(p *PrepareOptions) { p.ShardTokens = -1 },
		`data.split: want hash, hash/N or none to prepare text, got "tail/2"`:              func(p *PrepareOptions) { p.Split = "tail/2" },
		`data.tokenizer: want train:N with N from 257 to 1048576 ids, got "train:many"`:    func(p *PrepareOptions) { p.Tokenizer = "train:many" },
		`data.tokenizer: want train:N with N from 257 to 1048576 ids, got "train:256"`:     func(p *PrepareOptions) { p.Tokenizer = "train:256" },
		`data.tokenizer: want one of bytes, gpt2 or the path of a tokenizer.json, got "a"`: func(p *PrepareOptions) { p.Tokenizer = "a" },
		"missing: no such file or folder":                                                  func(p *PrepareOptions) { p.Paths = []string{"missing"} },
	} {
		p := PrepareOptions{Options: o, Dir: t.TempDir()}
		change(&p)
		_, err := NewPreparation(t.Context(), p)
		require.ErrorContains(t, err, want)
		require.Empty(t, namesIn(t, p.Dir))
	}
	p := PrepareOptions{Options: o, Dir: t.TempDir()}
	unlock, err := checkpoint.Lock(p.Dir)
	require.NoError(t, err)
	_, err = prepareWith(t, p)
	var locked *checkpoint.LockedError
	require.ErrorAs(t, err, &locked)
	require.NoError(t, unlock())
	for _, name := range []string{"x.tokens", "tokenizer.json"} {
		require.NoError(t, os.WriteFile(filepath.Join(p.Dir, name), nil, 0o600))
		_, err = prepareWith(t, p)
		require.ErrorContains(t, err, "want a folder without shards and tokenizers, it holds "+name)
		require.FileExists(t, filepath.Join(p.Dir, name))
		require.NoError(t, os.Remove(filepath.Join(p.Dir, name)))
	}
	shards := filepath.Join(t.TempDir(), "shards")
	_, err = prepared(t, shards, o, 0)
	require.NoError(t, err)
	_, err = prepared(t, t.TempDir(), shardsIn(shards), 0)
	require.ErrorContains(t, err, "want a document of text, got one of tokens: only text can be prepared")
}

// TestBadText: an error names the file, and the line if there is one, and no files are left.
func TestBadText(t *testing.T) {
	packed, line := gzipped(t, strings.Repeat("some text ", 1000)), `{"text":"a"}`+"\n"
	for name, c := range map[string]struct{ content, want string }{
		"nul.txt":      {"text\x00", "nul.txt: want text in UTF-8, got a binary file (NUL at byte 4)"},
		"nul.jsonl":    {line + `{"text":"a\u0000"}`, "nul.jsonl:2: want text, got a NUL at byte 1"},
		"object.jsonl": {line + `{"text":1}`, `object.jsonl:2: field "text": want a string, got 1`},
		"broken.jsonl": {line + `{"text":"a`, "broken.jsonl:2: invalid JSON"},
		"cut.txt.gz":   {packed[:len(packed)-9], "cut.txt.gz: unexpected EOF"},
		"none.gz":      {packed[:5], "none.gz: want a gzip file, as its extension says: unexpected EOF"},
		"cut.zst":      {zstded(t, strings.Repeat("some text ", 1000))[:15], "cut.zst: unexpected EOF"},
		"cut.jsonl.gz": {gzipped(t, strings.Repeat(line, 1000))[:30], "unexpected EOF"},
		"empty.txt":    {"", "empty corpus: no text in any file"},
		"long.txt":     {strings.Repeat("x", 1<<20+1), "long.txt: want documents of at most 1048576 bytes, for which there is memory, got a longer one: cut it"},
		"long.jsonl":   {line + `{"text":"` + strings.Repeat("x", 1<<20) + `"}`, "long.jsonl:2: want lines of at most 1048576 bytes, got a longer one"},
		"p.parquet":    {"PAR1\x15\x00", "p.parquet: want text in UTF-8, got a binary file (NUL at byte 5); it looks like Parquet, which residua prepare reads"},
	} {
		dir := t.TempDir()
		p := PrepareOptions{Options: filesIn(filepath.Join(writeFiles(t, map[string]string{name: c.content}), name)), Dir: dir}
		p.Threads, p.Memory = 4, 64<<20
		_, err := prepareWith(t, p)
		require.ErrorContains(t, err, c.want, name)
		require.NotContains(t, err.Error(), "\n")
		require.Equal(t, []string{checkpoint.LockName}, namesIn(t, dir), name)
	}
}

// readRows reads texts separated by commas.
func readRows(_ context.Context, file io.ReaderAt, size int64, _ string, _ int64, emit func(int, string) error) error {
	text := make([]byte, size)
	if _, err := file.ReadAt(text, 0); err != nil {
		return err
	}
	for i, row := range strings.Split(string(text), ",") {
		if err := emit(i+1, row); err != nil {
			return err
		}
	}
	return nil
}

// TestFormatsRead: a file of another format is found in folders, and its rows are documents.
func TestFormatsRead(t *testing.T) {
	o := filesIn(writeFiles(t, map[string]string{"a.rows": "one,,two", "b.txt": "three", "c.rows.gz": "x"}))
	o.Formats = []Format{{Extension: ".rows", Read: readRows}}
	require.ErrorContains(t, errors.New(loadError(t, o)), "c.rows.gz: want a file that is not compressed as a whole")
	o.Paths = []string{filepath.Join(o.Paths[0], "[ab].*")}
	c := load(t, o)
	assert.Equal(t, []string{"one", "two", "three"}, texts(c.Tokenizer, c.Train))
}
