package data

import (
	"bytes"
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

// shardSource reads documents that are tokenized already: shards that Preparation.Run has written,
// and files of raw little-endian integers, of two bytes if the tokenizer has at most 65,536 ids,
// otherwise of four.
//
// It reads the files instead of mapping them into memory, so that a file which somebody truncates
// meanwhile gives an error and does not crash the program.
type shardSource struct {
	paths     []string
	tokenizer Tokenizer
	digest    [sha256.Size]byte    // of the tokenizer
	listed    map[string]ShardInfo // by File.Disk: the entry in its folder's meta.json; set by Files
}

func newShardSource(paths []string, t Tokenizer) *shardSource {
	return &shardSource{paths: paths, tokenizer: t, digest: digestOf(t), listed: map[string]ShardInfo{}}
}

func (s *shardSource) Files(ctx context.Context) ([]File, error) {
	return expandPaths(ctx, Shards{}.Name(), s.paths, s.folder, nil)
}

// folder lists the shards of a folder that Preparation.Run has filled.
func (s *shardSource) folder(_ context.Context, dir string) ([]File, error) {
	meta, err := ReadPrepared(dir)
	if err != nil {
		return nil, err
	}
	if meta.TokenizerSHA256 != hex.EncodeToString(s.digest[:]) {
		return nil, errors.Errorf("%s: want shards of tokenizer %q, these were made with %q: set data.tokenizer: %s, or prepare them anew",
			dir, s.tokenizer.Name(), meta.Tokenizer, meta.tokenizerPath(dir))
	}
	var files []File
	for _, shard := range meta.Shards {
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

// readShard emits the documents of a shard of size bytes, and checks it against its header and its
// entry in meta.json, as far as it has them.
func (s *shardSource) readShard(ctx context.Context, f File, in io.ReadSeeker, size int64, emit func(Document) error) error {
	header, prepared, err := readShardHeader(in, size)
	if err == nil && prepared {
		size -= shardHeaderSize
		err = header.checkTokenizer(s.tokenizer, s.digest)
	}
	if err == nil {
		err = s.checkListed(f, header)
	}
	if err != nil {
		return err
	}
	width := tokenWidth(s.tokenizer.Vocab())
	if size == 0 || size%width != 0 {
		return errors.Errorf("want tokens of %d bytes each, got %d bytes", width, size)
	}
	scan, sum := shardScan{ctx: ctx, tokenizer: s.tokenizer, width: int(width), name: f.Name, side: header.Side, emit: emit}, sha256.New()
	if err := scan.run(io.TeeReader(io.LimitReader(in, size), sum)); err != nil {
		return err
	}
	switch got := sum.Sum(nil); {
	case scan.tokens != size/width:
		return errors.Errorf("want %d tokens, as its size was when it was opened, got %d: the file was cut short while it was read", size/width, scan.tokens)
	case prepared && !bytes.Equal(got, header.SHA256[:]):
		return errors.Errorf("want sha256 %.12x, as its header says, got %.12x: the file is damaged, prepare it anew", header.SHA256[:6], got[:6])
	case prepared && uint64(scan.documents) != header.Documents:
		return errors.Errorf("want %d documents, as its header says, got %d: the file is damaged, prepare it anew", header.Documents, scan.documents)
	}
	return nil
}

// checkListed returns an error unless a shard is the one that its folder's meta.json lists.
func (s *shardSource) checkListed(f File, h shardHeader) error {
	info, listed := s.listed[f.Disk]
	if got := hex.EncodeToString(h.SHA256[:]); listed && (info.SHA256 != got || uint64(info.Tokens) != h.Tokens || uint64(info.Documents) != h.Documents) {
		return errors.Errorf("want the shard that %s lists (%d tokens, %d documents, sha256 %.12s), got another (%d, %d, %.12s): prepare the text anew",
			metaName, info.Tokens, info.Documents, info.SHA256, h.Tokens, h.Documents, got)
	}
	return nil
}

// shardScan splits a shard into documents, each of which ends before the next BOS.
type shardScan struct {
	ctx               context.Context
	tokenizer         Tokenizer
	name              string // of the shard
	side              side   // of all its documents
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
func (s *shardScan) block(block []byte) error {
	bos, vocab := s.tokenizer.BOS(), s.tokenizer.Vocab()
	for i := 0; i+s.width <= len(block); i += s.width {
		token := int32(binary.LittleEndian.Uint16(block[i:]))
		if s.width == 4 {
			token = int32(binary.LittleEndian.Uint32(block[i:]))
		}
		switch {
		case token == bos:
			if err := s.end(); err != nil {
				return err
			}
		case s.tokens == 0:
			return errors.Errorf("want the first token to be BOS (%d) of tokenizer %q, got %d: "+
				"shards are raw little-endian integers of %d bytes without a header, and every document begins with BOS",
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
	d := Document{Name: fmt.Sprintf("%s#%d", s.name, s.documents), Tokens: NewTokens(s.tokenizer.Vocab(), s.document), side: s.side}
	s.document = s.document[:0]
	s.documents++
	return s.emit(d)
}
