package data

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"io"

	"github.com/pkg/errors"
)

// shardMagic begins a shard with a header.
var shardMagic = [8]byte{'R', 'E', 'S', 'T', 'O', 'K', 'E', 'N'}

const (
	shardVersion    = 1
	shardHeaderSize = 128
)

// shardHeader is the first 128 bytes of a shard that Preparation.Run has written, little-endian. It
// is written last: a shard that begins with zeros is unfinished.
type shardHeader struct {
	Magic     [8]byte
	Version   uint32
	Vocab     uint32 // number of ids of the tokenizer; tokens take two bytes if it is at most 65,536, otherwise four
	Tokens    uint64
	Documents uint64
	Tokenizer [32]byte // Digest of the tokenizer
	SHA256    [32]byte // of the tokens
	Side      side
	_         [28]byte
}

// bytes returns the header as it is in the file.
func (h shardHeader) bytes() []byte {
	var out bytes.Buffer
	_ = binary.Write(&out, binary.LittleEndian, h) // a buffer takes all
	return out.Bytes()
}

// readShardHeader reads the header of a shard of size bytes; shard is then at its first token.
// ok is false if the shard has no header, because it consists of raw tokens.
func readShardHeader(shard io.ReadSeeker, size int64) (h shardHeader, ok bool, err error) {
	first := make([]byte, shardHeaderSize)
	n, err := io.ReadFull(shard, first)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return h, false, err
	}
	switch {
	case n == shardHeaderSize && bytes.Count(first, []byte{0}) == n:
		return h, false, errors.New("want a finished shard, got one whose header is not written yet: run prepare again to finish it")
	case bytes.HasPrefix(first[:n], shardMagic[:]) && n < shardHeaderSize:
		return h, false, errors.Errorf("want a header of %d bytes, got %d: the file is damaged, prepare it anew", shardHeaderSize, n)
	case !bytes.HasPrefix(first, shardMagic[:]):
		_, err = shard.Seek(0, io.SeekStart)
		return h, false, err
	}
	if err = binary.Read(bytes.NewReader(first), binary.LittleEndian, &h); err != nil {
		return h, false, err
	}
	return h, true, h.check(size)
}

// check returns an error if no shard of size bytes can have this header.
func (h shardHeader) check(size int64) error {
	const damaged = "the file is damaged, prepare it anew"
	switch tokens := size - shardHeaderSize; {
	case h.Version != shardVersion:
		return errors.Errorf("want a shard of version %d, got version %d: a later Residua has written it", shardVersion, h.Version)
	case h.Side >= sides:
		return errors.Errorf("want a split from 0 to %d in its header, got %d: %s", sides-1, h.Side, damaged)
	case h.Tokens == 0 || h.Documents == 0:
		return errors.Errorf("want at least one token and one document, got %d and %d: %s", h.Tokens, h.Documents, damaged)
	case tokens%tokenWidth(int(h.Vocab)) != 0 || uint64(tokens/tokenWidth(int(h.Vocab))) != h.Tokens:
		return errors.Errorf("want %d tokens of %d bytes, as its header says, got %d bytes: %s", h.Tokens, tokenWidth(int(h.Vocab)), tokens, damaged)
	}
	return nil
}

// checkTokenizer returns an error unless t is the tokenizer with which the shard was made.
func (h shardHeader) checkTokenizer(t Tokenizer, want [32]byte) error {
	if h.Tokenizer != want || int(h.Vocab) != t.Vocab() {
		return errors.Errorf("want tokens of tokenizer %q (%d ids, digest %.12s), got those of another (%d ids, digest %.12s): "+
			"set data.tokenizer to that one, or prepare the text anew",
			t.Name(), t.Vocab(), hex.EncodeToString(want[:]), h.Vocab, hex.EncodeToString(h.Tokenizer[:]))
	}
	return nil
}

// tokenWidth returns the bytes of a token on disk.
func tokenWidth(vocab int) int64 {
	if isNarrow(vocab) {
		return 2
	}
	return 4
}
