package data

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/regular"
)

// shardBlock is how many bytes of a shard are read at a time, a multiple of a token's.
const shardBlock = 1 << 18

// shardSource reads documents that are tokenized already: files of raw little-endian integers, of
// two bytes if the tokenizer has at most 65,536 ids, otherwise of four.
//
// It reads the files instead of mapping them into memory, so that a file which somebody truncates
// meanwhile gives an error and does not crash the program.
type shardSource struct {
	paths     []string
	tokenizer Tokenizer
	listed    map[string]ShardInfo // by file.disk: the index's entry; set by files
}

func newShardSource(paths []string, t Tokenizer) *shardSource {
	return &shardSource{paths: paths, tokenizer: t, listed: map[string]ShardInfo{}}
}

func (s *shardSource) Files(ctx context.Context) ([]File, error) {
	return expandPaths(ctx, Shards{}.Name(), s.paths, s.folder)
}

// folder lists the shards that the index of a folder names.
func (s *shardSource) folder(_ context.Context, dir string) ([]File, error) {
	index, err := ReadShardIndex(dir)
	if err != nil {
		return nil, err
	}
	if index.Tokenizer != s.tokenizer.Name() {
		return nil, errors.Errorf("%s: want shards of tokenizer %q, these were made with %q: set data.tokenizer: %s, or prepare them anew",
			dir, s.tokenizer.Name(), index.Tokenizer, index.Tokenizer)
	}
	if index.Vocab != s.tokenizer.Vocab() {
		return nil, errors.Errorf("%s: want vocab %d, that of tokenizer %q, got %d: it is damaged, prepare the shards anew",
			filepath.Join(dir, shardIndexName), s.tokenizer.Vocab(), index.Tokenizer, index.Vocab)
	}
	var files []File
	for _, shard := range index.Shards {
		f := File{Name: shard.Name, Disk: filepath.Join(dir, shard.Name)}
		s.listed[f.Disk] = shard
		files = append(files, f)
	}
	return files, nil
}

func (s *shardSource) Read(ctx context.Context, f File, _ *Encoder, emit func(Document) error) error {
	in, size, err := regular.Open(f.Disk)
	if err != nil {
		return errors.Wrap(err, "data.source shards")
	}
	defer in.Close()
	return errors.Wrapf(s.readShard(ctx, f, in, size, emit), "data.source shards: %s", f.Disk)
}

// readShard checks a shard of size bytes against its entry in the index, if there is one, and emits
// its documents.
func (s *shardSource) readShard(ctx context.Context, f File, in io.ReadSeeker, size int64, emit func(Document) error) error {
	width := s.width()
	if size == 0 || size%width != 0 {
		return errors.Errorf("want tokens of %d bytes each, got %d bytes", width, size)
	}
	info, listed := s.listed[f.Disk]
	if listed {
		if err := info.check(in, size, width); err != nil {
			return err
		}
	}
	scan := shardScan{ctx: ctx, tokenizer: s.tokenizer, width: int(width), name: f.Name, emit: emit}
	if err := scan.run(io.LimitReader(in, size)); err != nil {
		return err
	}
	if scan.tokens != size/width {
		return errors.Errorf("want %d tokens, as its size was when it was opened, got %d: the file was cut short while it was read", size/width, scan.tokens)
	}
	if listed && scan.documents != info.Documents {
		return errors.Errorf("want %d documents, as %s says, got %d: the index is damaged, prepare the shards anew", info.Documents, shardIndexName, scan.documents)
	}
	return nil
}

// width returns the bytes of a token.
func (s *shardSource) width() int64 {
	if isNarrow(s.tokenizer.Vocab()) {
		return 2
	}
	return 4
}

// check returns an error if a shard of size bytes differs from the entry in the index; otherwise it
// rewinds the shard.
func (i ShardInfo) check(shard io.ReadSeeker, size, width int64) error {
	if size/width != i.Tokens {
		return errors.Errorf("want %d tokens, as %s says, got %d: the file is damaged, prepare the shards anew", i.Tokens, shardIndexName, size/width)
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(shard, size)); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != i.SHA256 {
		return errors.Errorf("want sha256 %.12s, as %s says, got %.12s: the file is damaged, prepare the shards anew", i.SHA256, shardIndexName, got)
	}
	_, err := shard.Seek(0, io.SeekStart)
	return err
}

// shardScan splits a shard into documents, each of which ends before the next BOS.
type shardScan struct {
	ctx               context.Context
	tokenizer         Tokenizer
	name              string // of the shard
	emit              func(Document) error
	width             int     // bytes of a token
	tokens, documents int64   // read and emitted so far
	document          []int32 // the current document
}

// run emits the documents of a shard.
func (s *shardScan) run(shard io.Reader) error {
	block := make([]byte, shardBlock)
	for {
		n, err := io.ReadFull(shard, block)
		ended := err == io.EOF || err == io.ErrUnexpectedEOF
		if err != nil && !ended {
			return err
		}
		if err := s.block(block[:n]); err != nil {
			return err
		}
		if ended {
			return s.end()
		}
		if err := s.ctx.Err(); err != nil {
			return err
		}
	}
}

// block scans the next tokens.
func (s *shardScan) block(bytes []byte) error {
	bos, vocab := s.tokenizer.BOS(), s.tokenizer.Vocab()
	for i := 0; i+s.width <= len(bytes); i += s.width {
		token := int32(binary.LittleEndian.Uint16(bytes[i:]))
		if s.width == 4 {
			token = int32(binary.LittleEndian.Uint32(bytes[i:]))
		}
		switch {
		case token == bos:
			if err := s.end(); err != nil {
				return err
			}
		case s.tokens == 0:
			return errors.Errorf("want the first token to be BOS (%d) of tokenizer %q, got %d: shards are raw little-endian integers of %d bytes without a header, and every document begins with BOS",
				bos, s.tokenizer.Name(), token, s.width)
		case token < 0 || int(token) >= vocab:
			return errors.Errorf("token %d: want ids below %d (tokenizer %q), got %d: was it made with another tokenizer?",
				s.tokens, vocab, s.tokenizer.Name(), token)
		}
		s.document = append(s.document, token)
		s.tokens++
	}
	return nil
}

// end emits the current document, if there is one.
func (s *shardScan) end() error {
	if len(s.document) == 0 {
		return nil
	}
	d := Document{fmt.Sprintf("%s#%d", s.name, s.documents), NewTokens(s.tokenizer.Vocab(), s.document)}
	s.document = s.document[:0]
	s.documents++
	return s.emit(d)
}
