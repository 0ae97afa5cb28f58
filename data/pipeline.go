package data

import (
	"context"
	"runtime"

	"golang.org/x/sync/errgroup"
)

const (
	filesAhead  = 8       // files per thread that may be finished but not yet visited
	chunkTokens = 1 << 16 // tokens that a reader collects before it passes them on
)

// eachDocument visits every document of the source, in the order of its files, from one goroutine,
// while threads goroutines read and encode ahead. At most threads * filesAhead files are in
// progress at a time, with at most about two chunks of each in memory, so the memory needed does
// not grow with the corpus. It returns the error of the first file, in order, that has one.
func eachDocument(ctx context.Context, src Reader, t Tokenizer, threads int, visit func(Document) error) error {
	files, err := src.Files(ctx)
	if err != nil {
		return err
	}
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	ctx, cancel := context.WithCancel(ctx)
	var readers errgroup.Group
	readers.SetLimit(threads + 1)
	defer func() {
		cancel()
		_ = readers.Wait() // each job keeps its own error
	}()
	jobs := make(chan *fileJob, threads*filesAhead-1) // in the order of the files; one more file is being visited
	readers.Go(func() error {
		defer close(jobs)
		for _, f := range files {
			j := &fileJob{file: f, chunks: make(chan []Document, 1)}
			select {
			case jobs <- j:
			case <-ctx.Done():
				return nil
			}
			readers.Go(func() error {
				j.read(ctx, src, &Encoder{tokenizer: t})
				return nil
			})
		}
		return nil
	})
	for j := range jobs {
		if err := j.drain(ctx, visit); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// fileJob is the reading of one file.
type fileJob struct {
	file   File
	chunks chan []Document // closed at the end of the file
	err    error           // valid once chunks is closed
}

// read sends the documents of the file in chunks.
func (j *fileJob) read(ctx context.Context, src Reader, enc *Encoder) {
	defer close(j.chunks)
	var chunk []Document
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
	j.err = src.Read(ctx, j.file, enc, func(d Document) error {
		chunk = append(chunk, d)
		if tokens += d.Tokens.Len(); tokens < chunkTokens {
			return nil
		}
		return send()
	})
	if j.err == nil && len(chunk) > 0 {
		j.err = send()
	}
}

// drain visits the documents of the file.
func (j *fileJob) drain(ctx context.Context, visit func(Document) error) error {
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
