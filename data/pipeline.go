package data

import (
	"cmp"
	"context"
	"runtime"
	"sync"

	"github.com/pkg/errors"
	"golang.org/x/sync/errgroup"
)

const (
	filesAhead  = 8       // files per thread that may be read but not yet visited
	chunkBytes  = 1 << 18 // bytes of documents that a reader collects before it passes them on
	chunksAhead = 8       // chunks per thread that may wait to be visited, all files together

	documentBytes = 128 // what a document takes besides its text and tokens, about
)

// place is the position of a document in a source: the index of its file, and its own index among
// the documents of that file.
type place struct{ File, Document int }

// pipeline visits the documents of files in order, while others are read and encoded ahead.
type pipeline struct {
	source  Reader
	threads int // 0 means GOMAXPROCS
	from    place
	// encode does what can be done to a document independently of all others. Several
	// goroutines call it, each with its own Encoder.
	encode func(enc *Encoder, d *Document) error

	encoders errgroup.Group
	spare    sync.Pool // *Encoder
	backlog  *backlog
}

// eachDocument encodes every document of the source and visits them, in the order of their files,
// from one goroutine.
func eachDocument(ctx context.Context, src Reader, t Tokenizer, threads int, visit func(Document) error) error {
	files, err := src.Files(ctx)
	if err != nil {
		return err
	}
	p := pipeline{source: src, threads: threads, encode: (*Encoder).encode}
	return p.each(ctx, files, t, visit)
}

// each visits the documents of the files from p.from on. threads goroutines read and threads
// encode. The memory needed does not grow with the corpus, nor with the length of a file of many
// documents. It returns the error of the first file, in order, that has one.
func (p *pipeline) each(ctx context.Context, files []File, t Tokenizer, visit func(Document) error) error {
	if p.threads <= 0 {
		p.threads = runtime.GOMAXPROCS(0)
	}
	p.encoders.SetLimit(p.threads)
	p.spare.New = func() any { return &Encoder{tokenizer: t} }
	p.backlog = newBacklog(int64(p.threads)*chunksAhead*chunkBytes, p.from.File)
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(ctx, p.backlog.wake)
	var readers errgroup.Group
	readers.SetLimit(p.threads + 1)
	defer func() {
		cancel()
		stop()
		_ = readers.Wait() // each job keeps its own error
		_ = p.encoders.Wait()
	}()
	jobs := make(chan *fileJob, p.threads*filesAhead-1) // in the order of the files; one more file is being visited
	readers.Go(func() error {
		defer close(jobs)
		for i := p.from.File; i < len(files); i++ {
			j := &fileJob{pipeline: p, file: files[i], index: i, chunks: make(chan *chunk, p.threads*chunksAhead+1)}
			select {
			case jobs <- j:
			case <-ctx.Done():
				return nil
			}
			readers.Go(func() error {
				j.read(ctx)
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

// chunk holds successive documents of a file.
type chunk struct {
	documents []Document
	bytes     int64
	encoded   chan struct{} // closed when the documents are encoded
	err       error         // valid once encoded is closed
}

// fileJob is the reading of one file.
type fileJob struct {
	*pipeline
	file   File
	index  int
	held   int64       // its bytes in the backlog, whose mutex guards this field
	chunks chan *chunk // closed at the end of the file
	err    error       // valid once chunks is closed
}

// read sends the documents of the file in chunks.
func (j *fileJob) read(ctx context.Context) {
	defer close(j.chunks)
	defer j.recovered(&j.err)
	next, at := &chunk{}, place{File: j.index}
	j.err = j.source.Read(ctx, j.file, &Encoder{}, func(d Document) error {
		d.place = at
		at.Document++
		if j.index == j.from.File && d.place.Document < j.from.Document {
			return nil
		}
		next.documents = append(next.documents, d)
		next.bytes += documentBytes + int64(4*d.Tokens.Len())
		for _, text := range d.texts() {
			next.bytes += int64(len(text))
		}
		if next.bytes < chunkBytes {
			return nil
		}
		full := next
		next = &chunk{}
		return j.send(ctx, full)
	})
	if j.err == nil && len(next.documents) > 0 {
		j.err = j.send(ctx, next)
	}
}

// recovered turns a panic, whose trace would not say which file it is about, into an error.
func (j *fileJob) recovered(err *error) {
	if r := recover(); r != nil {
		*err = errors.Errorf("%s: internal error: %v: a bug of the program; please report it, with the file if you can", cmp.Or(j.file.Disk, j.file.Name), r)
	}
}

// send passes a chunk on as soon as the backlog has room for it, and schedules its encoding.
func (j *fileJob) send(ctx context.Context, c *chunk) error {
	if err := j.backlog.add(ctx, j, c.bytes); err != nil {
		return err
	}
	c.encoded = make(chan struct{})
	j.encoders.Go(func() error {
		defer close(c.encoded)
		defer j.recovered(&c.err)
		enc := j.spare.Get().(*Encoder)
		defer j.spare.Put(enc)
		for i := range c.documents {
			if c.err = j.encode(enc, &c.documents[i]); c.err != nil || ctx.Err() != nil {
				break
			}
		}
		return nil
	})
	select {
	case j.chunks <- c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// drain visits the documents of the file.
func (j *fileJob) drain(ctx context.Context, visit func(Document) error) error {
	defer j.backlog.next()
	for {
		select {
		case c, more := <-j.chunks:
			if !more {
				return j.err
			}
			if err := j.visit(ctx, c, visit); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// visit visits the documents of a chunk.
func (j *fileJob) visit(ctx context.Context, c *chunk, visit func(Document) error) error {
	<-c.encoded
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.err != nil {
		return c.err
	}
	for _, d := range c.documents {
		if err := visit(d); err != nil {
			return err
		}
	}
	j.backlog.remove(j, c.bytes)
	return nil
}
