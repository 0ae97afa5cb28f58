//go:build unix

package data

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pipe makes a named pipe that nobody writes to.
func pipe(t *testing.T, path string) string {
	t.Helper()
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	return path
}

// Pipes and devices may never end, so a path that names one is refused at once.
func TestCorporaAreRegularFiles(t *testing.T) {
	const fix = ": save what it gives in a file and name that"
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	fifo := pipe(t, in("pipe.txt"))
	require.NoError(t, os.Symlink(fifo, in("link.jsonl.gz")))
	for _, options := range []func(...string) Options{filesIn, shardsIn} {
		for path, kind := range map[string]string{fifo: "a pipe", in("link.jsonl.gz"): "a pipe", "/dev/zero": "a device"} {
			assert.Contains(t, loadError(t, options(path)), "data.path entry 1: "+path+": want a regular file, got "+kind+fix)
		}
	}
	assert.Contains(t, loadError(t, filesIn(in("*"))), "matches no file")
	assert.Contains(t, loadError(t, filesIn(dir)), "no text file in this folder")

	pipe(t, in("meta.json"))
	assert.Contains(t, loadError(t, shardsIn(dir)), in("meta.json")+": want a regular file, got a pipe"+fix)
}

// An index may name anything.
func TestShardsAreRegularFiles(t *testing.T) {
	dir := t.TempDir()
	index, err := prepared(t, dir, twelveTexts(t), 0)
	require.NoError(t, err)
	shard := filepath.Join(dir, index.Shards[0].Name)
	require.NoError(t, os.Remove(shard))
	pipe(t, shard)
	assert.Contains(t, loadError(t, shardsIn(dir)), shard+": want a regular file, got a pipe")
	require.NoError(t, os.Remove(shard))
	require.NoError(t, os.Symlink("/dev/zero", shard))
	assert.Contains(t, loadError(t, shardsIn(dir)), shard+": want a regular file, got a device")
}

// A binary file is refused at its first NUL byte, however large it is.
func TestLargeBinaryFilesAreNotReadWhole(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.txt", "a.jsonl", "meta.json"} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte("text"), 0o644))
		if err := os.Truncate(path, 1<<40); err != nil {
			t.Skipf("wants a file system with sparse files: %v", err)
		}
	}
	assert.Contains(t, loadError(t, filesIn(filepath.Join(dir, "a.txt"))), "a.txt: want text in UTF-8, got a binary file (NUL at byte 4)")
	assert.Contains(t, loadError(t, filesIn(filepath.Join(dir, "a.jsonl"))), "a.jsonl:1: want text in UTF-8, got a binary file (NUL at byte 4)")
	assert.Contains(t, loadError(t, shardsIn(dir)), "meta.json: want a file of at most 16777216 bytes, got more")
}

// cpuSeconds returns the processor time that the program has used, which, unlike the time on a
// clock, does not grow when other programs run.
func cpuSeconds(t *testing.T) float64 {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return float64(u.Utime.Sec) + float64(u.Utime.Usec)/1e6
}

// A line that arrives in small pieces, as decompressed text does, is not searched again from its
// start for each piece: 8 times the length takes about 8 times the time, and not 60 times.
func TestLongLinesTakeLinearTime(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 160 MB")
	}
	seconds := func(length int) float64 {
		root := writeFiles(t, map[string]string{"a.jsonl.gz": gzipped(t, strings.Repeat(" ", length))})
		best := math.Inf(1)
		for range 3 {
			before := cpuSeconds(t)
			assert.Contains(t, loadError(t, filesIn(root)), "empty corpus")
			best = min(best, cpuSeconds(t)-before)
		}
		return best
	}
	short, long := seconds(6<<20), seconds(48<<20)
	t.Logf("%.3f s, %.3f s", short, long)
	const tick = 0.01 // the resolution of that clock
	assert.Less(t, long, 24*max(short, tick))
}
