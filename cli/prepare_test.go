package cli

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/commandline/clitest"
	"github.com/residua-go/residua/internal/longtest"
)

// callPrepare calls prepare.
func callPrepare(args ...string) clitest.Outcome {
	return call(append([]string{"prepare"}, args...)...)
}

// mixedFolder has three documents of text in as many kinds of files.
func mixedFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write([]byte(`{"body":"packed"}` + "\n" + `{"body":"plain text"}`))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	for name, content := range map[string]string{"a.txt": "plain text", "b.md": "caf\xe9", "c.jsonl.gz": packed.String(), "d.png": "no text"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	return dir
}

func TestPrepareSummary(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shards")
	got := callPrepare("-out", dir, "-text-field", "body", "-dedupe", "-split", "none", mixedFolder(t))
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	assert.Regexp(t, regexp.MustCompile(`(?s)train +3 +23 +20\n.*`+
		`0\.87 bytes a token \(bytes, 257 ids\); longest document: a\.txt, 11 tokens\n`+
		`duplicates dropped: 1\ndocuments with bytes that are not UTF-8, which are kept as they are: 1\nwrote .*shards in .*, shards: 1\n`), got.Stdout)
	assert.Contains(t, got.Stderr, `note: data.path: 1 file passed over, not text by extension or content: "d.png"`)
	meta, err := data.ReadPrepared(dir)
	require.NoError(t, err)
	assert.EqualValues(t, 1, meta.Duplicates)
}

// TestPrepareFlags: each changes what is written.
func TestPrepareFlags(t *testing.T) {
	in := t.TempDir()
	for i := range 40 {
		require.NoError(t, os.WriteFile(filepath.Join(in, fmt.Sprintf("%02d.txt", i)), []byte(fmt.Sprintf("document %d of all", i/2)), 0o600))
	}
	with := func(args ...string) data.Prepared {
		dir := filepath.Join(t.TempDir(), "shards")
		got := callPrepare(append([]string{"-out", dir, in}, args...)...)
		require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
		meta, err := data.ReadPrepared(dir)
		require.NoError(t, err)
		return meta
	}
	plain := with()
	require.Equal(t, "bytes", plain.Tokenizer)
	require.Equal(t, "hash/20", plain.Split)
	require.EqualValues(t, 40, plain.Train.Documents+plain.Validation.Documents)
	assert.EqualValues(t, 20, with("-dedupe").Duplicates)
	assert.Greater(t, with("-split", "hash/2").Validation.Documents, plain.Validation.Documents)
	assert.Greater(t, len(with("-shard-tokens", "50").Shards), len(plain.Shards))
	assert.Equal(t, 50257, with("-tokenizer", "gpt2").Vocab)
	assert.Equal(t, 262, with("-tokenizer", "train:262").Vocab)
	assert.Equal(t, plain, with("-threads", "1", "-save-every", "1ns"))
}

// TestPrepareSample: of more text than -sample, a tokenizer sees a part.
func TestPrepareSample(t *testing.T) {
	in := t.TempDir()
	random := rand.New(rand.NewPCG(1, 2))
	var lines strings.Builder
	for lines.Len() < 3<<20 {
		fmt.Fprintf(&lines, `{"text":"%s"}`+"\n", strings.Repeat(fmt.Sprintf("%x ", random.Uint32N(1<<12)), 60))
	}
	require.NoError(t, os.WriteFile(filepath.Join(in, "a.jsonl"), []byte(lines.String()), 0o600))
	var digests []string
	for _, sample := range []string{"1", "256"} {
		dir := filepath.Join(t.TempDir(), "shards")
		got := callPrepare("-out", dir, "-tokenizer", "train:300", "-sample", sample, in)
		require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
		meta, err := data.ReadPrepared(dir)
		require.NoError(t, err)
		require.NotContains(t, digests, meta.TokenizerSHA256)
		digests = append(digests, meta.TokenizerSHA256)
	}
}

func TestPrepareRefuses(t *testing.T) {
	in, dir := mixedFolder(t), t.TempDir()
	callPrepare().Refused(t, "want files, folders, globs, or goroot, as in prepare -out corpora/go goroot, got none")
	callPrepare(in).Refused(t, "-out: want the folder to write, got nothing")
	callPrepare("-out", dir, filepath.Join(in, "none")).Refused(t, "none: no such file or folder")
	callPrepare("-out", dir, "-tokenizer", "train:x", in).Refused(t, `want train:N with N from 257`)
	callPrepare("-out", dir, "-tokenizer", filepath.Join(in, "none.json"), in).Refused(t, "none.json: no such file or directory")
	callPrepare("-out", dir, "-split", "tail", in).Refused(t, "want hash, hash/N or none to prepare text")
	bad := filepath.Join(in, "tokenizer.json")
	require.NoError(t, os.WriteFile(bad, []byte(`{"model":{"type":"Unigram"}}`), 0o600))
	callPrepare("-out", dir, "-tokenizer", bad, in).Refused(t, "tokenizer.json: ")
	got := callPrepare("-out", dir, in)
	assert.Equal(t, commandline.ExitRun, got.Code)
	assert.Equal(t, 1, strings.Count(got.Stderr, "error: "))
	assert.Contains(t, got.Stderr, `c.jsonl.gz:1: want the text in field "text", got an object with the fields [body]: name it in data.text_field, or by -text-field`)

	unlock, err := checkpoint.Lock(dir)
	require.NoError(t, err)
	got = callPrepare("-out", dir, "-text-field", "body", in)
	assert.Contains(t, got.Stderr, dir+": in use by process ")
	require.NoError(t, unlock())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got = callWith(ctx, "prepare", "-out", dir, "-text-field", "body", in)
	assert.Contains(t, got.Stderr, "error: ours prepare: interrupted")
}

// TestPrepareKilled kills prepare with SIGKILL at random moments and makes the same call again: the
// same bytes.
func TestPrepareKilled(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many processes")
	}
	in, dir := t.TempDir(), t.TempDir()
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)) // any moment will do
	for name := range 4 {
		var text strings.Builder
		for i := range 6000 {
			fmt.Fprintf(&text, `{"text":"%d squared is %d, in file %d"}`+"\n", i%2500, i*i, name%2)
		}
		require.NoError(t, os.WriteFile(filepath.Join(in, fmt.Sprintf("%d.jsonl", name)), []byte(text.String()), 0o600))
	}
	args := func(name string) []string {
		return []string{"-out", filepath.Join(dir, name), "-tokenizer", "train:400", "-dedupe", "-shard-tokens", "30000", "-split", "hash/5", "-save-every", "20ms", in}
	}
	began := time.Now()
	out, err := clitest.Program(t, "prepare", args("whole")...).CombinedOutput()
	require.NoError(t, err, string(out))
	length := time.Since(began)
	want := visibleFiles(t, filepath.Join(dir, "whole"))
	require.Greater(t, len(want), 8)
	rounds := 1
	if longtest.Enabled() {
		rounds = 10
	}
	for round := range rounds {
		name := fmt.Sprintf("killed%d", round)
		for range 3 { // several kills of one preparation
			c := clitest.Program(t, "prepare", args(name)...)
			require.NoError(t, c.Start())
			time.Sleep(time.Duration(random.Float64() * float64(length)))
			_ = c.Process.Kill()
			_ = c.Wait()
			if _, err := data.ReadPrepared(filepath.Join(dir, name)); err == nil {
				break
			}
		}
		if _, err := data.ReadPrepared(filepath.Join(dir, name)); err != nil {
			out, err := clitest.Program(t, "prepare", args(name)...).CombinedOutput()
			require.NoError(t, err, string(out))
		}
		require.Equal(t, want, visibleFiles(t, filepath.Join(dir, name)))
	}
}

// visibleFiles holds the files of a folder whose names do not begin with a dot.
func visibleFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "[^.]*"))
	require.NoError(t, err)
	all := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		all[filepath.Base(path)] = string(text)
	}
	return all
}
