package data

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// chunkTokens is about the number of tokens that fill a chunk.
const chunkTokens = chunkBytes / 4

// countedSource has count files, each of which has documents documents with tokens tokens.
type countedSource struct {
	count, documents, tokens int
	under                    *atomic.Int64 // documents emitted and not yet visited
	most                     *atomic.Int64
}

func (s countedSource) Files(context.Context) ([]File, error) {
	files := make([]File, s.count)
	for i := range files {
		files[i].Name = fmt.Sprint(i)
	}
	return files, nil
}

func (s countedSource) Read(_ context.Context, f File, _ *Encoder, emit func(Document) error) error {
	for i := range s.documents {
		for now, most := s.under.Add(1), s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); {
			most = s.most.Load()
		}
		if err := emit(Document{Name: fmt.Sprintf("%s#%d", f.Name, i), Tokens: narrow(make([]uint16, s.tokens)...)}); err != nil {
			return err
		}
	}
	return nil
}

func newCountedSource(count, documents, tokens int) countedSource {
	return countedSource{count, documents, tokens, new(atomic.Int64), new(atomic.Int64)}
}

func TestPipelineOrder(t *testing.T) {
	for _, threads := range []int{1, 3, 16} {
		src := newCountedSource(100, 7, chunkTokens/3)
		file, index := 0, 0
		require.NoError(t, eachDocument(t.Context(), src, byteTokenizer{}, threads, func(d Document) error {
			assert.Equal(t, fmt.Sprintf("%d#%d", file, index), d.Name)
			if index++; index == 7 {
				file, index = file+1, 0
			}
			return nil
		}))
		assert.Equal(t, 100, file)
	}
}

// A slow visitor holds readers back: the number of documents in progress does not grow with the
// corpus.
func TestPipelineIsBounded(t *testing.T) {
	const threads = 2
	src := newCountedSource(40, 20, chunkTokens)
	visited := 0
	require.NoError(t, eachDocument(t.Context(), src, byteTokenizer{}, threads, func(Document) error {
		visited++
		src.under.Add(-1)
		time.Sleep(100 * time.Microsecond)
		return nil
	}))
	assert.Equal(t, 800, visited)
	// The bound counts the documents in the backlog, one for each reader that waits for it, and the
	// visitor's.
	assert.LessOrEqual(t, src.most.Load(), int64(threads*chunksAhead+threads+2))
}

// One file of many documents keeps all threads busy, and a file never waits for those after it.
func TestPipelineEncodesOneFileInParallel(t *testing.T) {
	var now, most atomic.Int64
	p := pipeline{source: newCountedSource(3, 40, chunkTokens), threads: 4, encode: func(*Encoder, *Document) error {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		time.Sleep(2 * time.Millisecond)
		now.Add(-1)
		return nil
	}}
	files, err := p.source.Files(t.Context())
	require.NoError(t, err)
	visited := 0
	require.NoError(t, p.each(t.Context(), files[:1], byteTokenizer{}, func(Document) error { visited++; return nil }))
	assert.Equal(t, 40, visited)
	assert.Greater(t, most.Load(), int64(1))

	boom := errors.New("boom")
	p = pipeline{source: p.source, threads: 2, from: place{1, 39}, encode: func(_ *Encoder, d *Document) error {
		if d.Name == "2#3" {
			return boom
		}
		return nil
	}}
	var names []string
	require.ErrorIs(t, p.each(t.Context(), files, byteTokenizer{}, func(d Document) error { names = append(names, d.Name); return nil }), boom)
	assert.Equal(t, []string{"1#39", "2#0", "2#1", "2#2"}, names, "from a place on, up to the error")
}

func TestPipelineStopsOnVisitorError(t *testing.T) {
	before := runtime.NumGoroutine()
	boom := errors.New("boom")
	visited := 0
	err := eachDocument(t.Context(), newCountedSource(1000, 10, chunkTokens), byteTokenizer{}, 4, func(Document) error {
		visited++
		if visited == 5 {
			return boom
		}
		return nil
	})
	assert.ErrorIs(t, err, boom)
	assert.Equal(t, 5, visited)
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond) // readers that have said that they are done may still be returning
	}
	assert.LessOrEqual(t, runtime.NumGoroutine(), before, "no reader is left")
}

// badSource panics while it reads one of its files.
type badSource struct{ countedSource }

func (s badSource) Read(ctx context.Context, f File, enc *Encoder, emit func(Document) error) error {
	if f.Name == "3" {
		panic("index out of range")
	}
	return s.countedSource.Read(ctx, f, enc, emit)
}

// A panic while a file is read, or while one of its documents is encoded, does not end the program.
func TestPipelineReportsPanics(t *testing.T) {
	visited := 0
	count := func(Document) error { visited++; return nil }
	err := eachDocument(t.Context(), badSource{newCountedSource(5, 2, 1)}, byteTokenizer{}, 2, count)
	assert.EqualError(t, err, "3: internal error: index out of range: a bug of the program; please report it, with the file if you can")
	assert.Equal(t, 6, visited)

	p := pipeline{source: newCountedSource(5, 2, 1), threads: 2, encode: func(_ *Encoder, d *Document) error {
		if d.Name == "3#1" {
			panic("index out of range")
		}
		return nil
	}}
	err = p.each(t.Context(), []File{{Name: "3", Disk: "corpus/3"}}, byteTokenizer{}, count)
	assert.EqualError(t, err, "corpus/3: internal error: index out of range: a bug of the program; please report it, with the file if you can")
	assert.Contains(t, fmt.Sprintf("%+v", err), "pipeline_test.go", "where it happened")
}

func TestPipelineStopsOnCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	visited := 0
	err := eachDocument(ctx, newCountedSource(1000, 10, chunkTokens), byteTokenizer{}, 4, func(Document) error {
		if visited++; visited == 5 {
			cancel()
		}
		return nil
	})
	assert.ErrorIs(t, err, context.Canceled)
	assert.Less(t, visited, 200)
}

func TestLoadIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Load(ctx, filesIn(writeFiles(t, map[string]string{"a.txt": "a"})))
	assert.ErrorIs(t, err, context.Canceled)
}
