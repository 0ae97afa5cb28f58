package data

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	filesAhead  = 8       // files a thread that may be finished but not yet visited
	chunkTokens = 1 << 16 // tokens that a reader collects before it hands them on
)

// eachDocument visits every document of the source, in the order of its files,
// from one goroutine, while threads goroutines read and encode ahead. At most
// threads * filesAhead files are under way at a time, and of each at most about
// two chunks are held, so the memory needed does not grow with the corpus. The
// error returned is that of the first file, in order, that has one.
func eachDocument(ctx context.Context, src source, t Tokenizer, threads int, visit func(document) error) error {
	files, err := src.files(ctx)
	if err != nil {
		return err
	}
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	ctx, cancel := context.WithCancel(ctx)
	pipe := newPipeline(src, files, threads)
	defer pipe.workers.Wait()
	defer cancel()
	for range threads {
		pipe.workers.Go(func() { pipe.work(ctx, &encoder{tokenizer: t}) })
	}
	return pipe.visit(ctx, visit)
}

// pipeline reads files in any order and hands them on in theirs.
type pipeline struct {
	source  source
	jobs    []fileJob
	next    atomic.Int64  // the next job to start
	ahead   chan struct{} // a place a job that is started and not yet visited
	workers sync.WaitGroup
}

// fileJob is the reading of one file.
type fileJob struct {
	file   file
	chunks chan []document // closed at the end of the file
	err    error           // to be read once chunks is closed
}

func newPipeline(src source, files []file, threads int) *pipeline {
	p := &pipeline{
		source: src,
		jobs:   make([]fileJob, len(files)),
		ahead:  make(chan struct{}, threads*filesAhead),
	}
	for i, f := range files {
		p.jobs[i] = fileJob{file: f, chunks: make(chan []document, 1)}
	}
	return p
}

// work reads files until none is left or the context ends.
func (p *pipeline) work(ctx context.Context, enc *encoder) {
	for {
		// The place is taken before the job, so that the lowest job under way
		// always has one and the visitor never waits for a job without.
		select {
		case p.ahead <- struct{}{}:
		case <-ctx.Done():
			return
		}
		i := int(p.next.Add(1)) - 1
		if i >= len(p.jobs) {
			return
		}
		p.jobs[i].read(ctx, p.source, enc)
	}
}

// read sends the documents of the file in chunks.
func (j *fileJob) read(ctx context.Context, src source, enc *encoder) {
	defer close(j.chunks)
	var chunk []document
	tokens := 0
	send := func() error {
		select {
		case j.chunks <- chunk:
			chunk, tokens = nil, 0
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	j.err = src.read(ctx, j.file, enc, func(d document) error {
		chunk = append(chunk, d)
		if tokens += d.tokens.Len(); tokens < chunkTokens {
			return nil
		}
		return send()
	})
	if j.err == nil && len(chunk) > 0 {
		j.err = send()
	}
}

// visit takes the files in order.
func (p *pipeline) visit(ctx context.Context, visit func(document) error) error {
	for i := range p.jobs {
		if err := p.jobs[i].drain(ctx, visit); err != nil {
			return err
		}
		<-p.ahead
	}
	return nil
}

func (j *fileJob) drain(ctx context.Context, visit func(document) error) error {
	for {
		select {
		case chunk, more := <-j.chunks:
			if !more {
				return j.err
			}
			for _, d := range chunk {
				if err := visit(d); err != nil {
					return err
				}
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
