package data

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/internal/regular"
)

// stateName is the name of the file in which an unfinished Preparation keeps its state.
const stateName = ".prepare.json"

// prepareState says how far a preparation has come.
type prepareState struct {
	Settings string            `json:"settings"` // sha256 of the options, and of the names, sizes and times of the files
	Trained  bool              `json:"trained"`  // whether the tokenizer is trained
	Next     place             `json:"next"`     // the first document that is not written
	Meta     Prepared          `json:"meta"`     // so far, without the shards
	Writers  [sides]shardState `json:"writers"`
	Seen     int64             `json:"seen"` // documents whose hashes are saved
}

// fingerprint notes the sizes of the files and fills in the state's Settings.
func (p *Preparation) fingerprint() error {
	h := sha256.New()
	if p.tokenizer != nil {
		fmt.Fprintf(h, "%x\n", digestOf(p.tokenizer))
	}
	settings, err := json.Marshal(p.Source)
	if err != nil {
		return err
	}
	fmt.Fprintf(h, "2 %T %s %q %q %v %d %t %d\n", p.Source, settings, p.Tokenizer, p.TextField, p.split, p.ShardTokens, p.Dedupe, p.SampleBytes)
	for _, f := range p.files {
		var size int64
		var changed time.Time
		if f.Disk != "" {
			info, err := os.Stat(f.Disk)
			if err != nil {
				return err
			}
			size, changed = info.Size(), info.ModTime()
		}
		p.sizes = append(p.sizes, size)
		fmt.Fprintf(h, "%q %d %d\n", f.Name, size, changed.UnixNano())
	}
	p.state.Settings = hex.EncodeToString(h.Sum(nil))
	return nil
}

// readPrepareState reads the state in a folder. The error is os.ErrNotExist if there is none.
func readPrepareState(dir string) (s prepareState, err error) {
	path := filepath.Join(dir, stateName)
	text, err := regular.Read(path, maxMetaBytes)
	if err != nil {
		return s, err
	}
	return s, errors.Wrapf(json.Unmarshal(text, &s), "%s: want the state of an unfinished preparation; discard it by -restart", path)
}

// openOutputs opens the shards and the hashes where the state says that they end.
func (p *Preparation) openOutputs() (err error) {
	for side := range sides {
		h := shardHeader{Magic: shardMagic, Version: shardVersion, Vocab: uint32(p.tokenizer.Vocab()), Tokenizer: digestOf(p.tokenizer), Side: side}
		if p.writers[side], err = newShardWriter(p.Disk, p.Dir, int64(p.ShardTokens), h, p.state.Writers[side]); err != nil {
			return err
		}
	}
	if p.Dedupe {
		p.seen, err = openSeen(p.Disk, p.Dir, p.state.Seen)
	}
	return err
}

// save saves the state, after flushing everything that the state counts to the device.
func (p *Preparation) save() (err error) {
	for side, w := range p.writers {
		if p.state.Writers[side], err = w.save(); err != nil {
			return err
		}
	}
	if p.seen != nil {
		if p.state.Seen, err = p.seen.save(); err != nil {
			return err
		}
	}
	p.kept = true
	return p.saveState()
}

func (p *Preparation) saveState() error {
	text, err := json.Marshal(p.state)
	if err != nil {
		return err
	}
	if err := p.Disk.WriteFile(filepath.Join(p.Dir, stateName), text); err != nil {
		return err
	}
	p.saved = time.Now()
	return nil
}

// finish completes the shards, writes meta.json, and removes what only an unfinished folder needs.
func (p *Preparation) finish() error {
	meta := &p.state.Meta
	for _, w := range p.writers {
		if err := w.finish(); err != nil {
			return err
		}
		meta.Shards = append(meta.Shards, w.state.Finished...)
	}
	if len(meta.Shards) == 0 {
		return errEmpty(p.Options)
	}
	for _, shard := range meta.Shards {
		if _, err := os.Stat(filepath.Join(p.Dir, shard.Name)); err != nil {
			return errors.Wrap(err, "a shard has gone since it was written: begin anew by -restart")
		}
	}
	text, err := json.MarshalIndent(meta, "", "  ")
	if err != nil {
		return err
	}
	if err := p.Disk.WriteFile(filepath.Join(p.Dir, metaName), append(text, '\n')); err != nil {
		return err
	}
	return p.Disk.Remove(filepath.Join(p.Dir, stateName), filepath.Join(p.Dir, seenName))
}

// close closes the files.
func (p *Preparation) close() {
	for _, w := range p.writers {
		if w != nil {
			w.close()
		}
	}
	if p.seen != nil {
		_ = p.seen.file.Close() // its content is either flushed already or not needed
	}
}

// failed returns the error of a preparation. It says how to go on, or, if no state has been saved,
// removes what has been written.
func (p *Preparation) failed(err error) error {
	if errors.Is(err, checkpoint.ErrGone) {
		return errors.Wrapf(err, "%s is unfinished, begin anew by -restart", p.Dir)
	}
	if p.kept {
		return errors.Wrapf(err, "%s is unfinished, the same call goes on with it", p.Dir)
	}
	if left := p.discard(); left != nil {
		return errors.Wrapf(err, "%v; it was to be removed because of", left)
	}
	return err
}

// discard removes the files of an unfinished preparation. It removes the state last, by which a
// later call knows the others if this one dies.
func (p *Preparation) discard() error {
	entries, err := os.ReadDir(p.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name := e.Name(); isOutput(name) || name == seenName {
			if err := p.Disk.Remove(filepath.Join(p.Dir, name)); err != nil {
				return err
			}
		}
	}
	return p.Disk.Remove(filepath.Join(p.Dir, stateName))
}

// isOutput tells whether Run may write a file of that name that stays.
func isOutput(name string) bool {
	return name == tokenizerName || strings.HasSuffix(name, shardExtension)
}
