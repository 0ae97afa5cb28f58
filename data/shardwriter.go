package data

import (
	"bufio"
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"path/filepath"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
)

// defaultShardTokens is the default number of tokens in a shard, which take 200 MB.
const defaultShardTokens = 100_000_000

// shardWriter writes the shards of one side, one after the other.
type shardWriter struct {
	disk   checkpoint.Disk
	dir    string
	most   int64 // largest number of tokens in a shard of several documents
	header shardHeader

	file     *checkpoint.Appender // of the current shard; nil: none
	buffered *bufio.Writer        // over file
	sum      hash.Hash            // of the tokens of the current shard
	state    shardState
}

// shardState says how far a side has been written.
type shardState struct {
	Finished []ShardInfo `json:"finished"`
	Current  ShardInfo   `json:"current"` // without a name: there is none
	Sum      []byte      `json:"sum"`     // state of the hash of the current shard's tokens
}

// newShardWriter returns a writer that continues from a state.
func newShardWriter(disk checkpoint.Disk, dir string, most int64, header shardHeader, state shardState) (*shardWriter, error) {
	w := &shardWriter{disk: disk, dir: dir, most: most, header: header, state: state}
	if state.Current.Name == "" {
		return w, nil
	}
	if err := w.open(shardHeaderSize + state.Current.Tokens*tokenWidth(int(header.Vocab))); err != nil {
		return nil, errors.Wrap(err, "the shard to go on with; begin anew by -restart")
	}
	return w, errors.WithStack(w.sum.(encoding.BinaryUnmarshaler).UnmarshalBinary(state.Sum))
}

// open opens the current shard to append to its first size bytes; it drops what is after them.
func (w *shardWriter) open(size int64) (err error) {
	if w.file, err = w.disk.Extend(filepath.Join(w.dir, w.state.Current.Name), size); err != nil {
		return err
	}
	w.buffered, w.sum = bufio.NewWriterSize(w.file, 1<<20), sha256.New()
	return nil
}

// add writes a document. It begins another shard if the current one has no room for it.
func (w *shardWriter) add(tokens Tokens) error {
	n := int64(tokens.Len())
	if w.file != nil && w.state.Current.Tokens+n > w.most {
		if err := w.finish(); err != nil {
			return err
		}
	}
	if w.file == nil {
		w.state.Current = ShardInfo{Name: fmt.Sprintf("%v-%05d%s", w.header.Side, len(w.state.Finished), shardExtension)}
		if err := w.open(0); err != nil {
			return err
		}
		if _, err := w.buffered.Write(make([]byte, shardHeaderSize)); err != nil {
			return err
		}
	}
	w.state.Current.Tokens += n
	w.state.Current.Documents++
	return tokens.write(io.MultiWriter(w.buffered, w.sum))
}

// finish completes the current shard, if there is one.
func (w *shardWriter) finish() error {
	if w.file == nil {
		return nil
	}
	h, shard := w.header, w.state.Current
	h.Tokens, h.Documents = uint64(shard.Tokens), uint64(shard.Documents)
	w.sum.Sum(h.SHA256[:0])
	shard.SHA256 = hex.EncodeToString(h.SHA256[:])
	err := w.buffered.Flush()
	if err == nil {
		_, err = w.file.WriteAt(h.bytes(), 0)
	}
	if err == nil {
		err = w.file.Sync()
	}
	if err == nil {
		err = w.file.Close()
	}
	if err != nil {
		return err
	}
	w.file = nil
	w.state = shardState{Finished: append(w.state.Finished, shard)}
	return nil
}

// save flushes the current shard to the device and returns the state from which newShardWriter
// continues.
func (w *shardWriter) save() (shardState, error) {
	if w.file == nil {
		return w.state, nil
	}
	err := w.buffered.Flush()
	if err == nil {
		err = w.file.Sync()
	}
	if err == nil {
		w.state.Sum, err = w.sum.(encoding.BinaryMarshaler).MarshalBinary()
	}
	return w.state, err
}

// close closes the current shard, unfinished.
func (w *shardWriter) close() {
	if w.file != nil {
		_ = w.file.Close() // its content is either flushed already or not needed
	}
}
