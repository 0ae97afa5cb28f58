package data

import (
	"bufio"
	"io"
	"path/filepath"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/internal/regular"
)

// seenName is the name of the file that holds the hashes of the documents that a Preparation has
// seen.
const seenName = ".prepare-seen"

// shortSum is the beginning of the sha256 of a document's text. Among 10^12 documents, two that
// differ have the same one with a probability of 10^-15.
type shortSum [16]byte

// seen tells whether a document has come before. It takes 16 bytes a document on disk, and in
// memory what a Go map of such keys takes.
type seen struct {
	all      map[shortSum]struct{}
	file     *checkpoint.Appender
	buffered *bufio.Writer // over file
}

// openSeen reads the first n documents' hashes in a folder.
func openSeen(disk checkpoint.Disk, dir string, n int64) (*seen, error) {
	s, path := &seen{all: map[shortSum]struct{}{}}, filepath.Join(dir, seenName)
	if n > 0 {
		f, _, err := regular.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		for in := bufio.NewReader(f); int64(len(s.all)) < n; {
			var sum shortSum
			if _, err := io.ReadFull(in, sum[:]); err != nil {
				return nil, errors.Wrapf(err, "%s: want the hashes of %d documents, got %d", path, n, len(s.all))
			}
			s.all[sum] = struct{}{}
		}
	}
	var err error
	if s.file, err = disk.Extend(path, n*int64(len(shortSum{}))); err != nil {
		return nil, err
	}
	s.buffered = bufio.NewWriter(s.file)
	return s, nil
}

// add adds a document, and tells whether an equal one has come before.
func (s *seen) add(d Document) (before bool, err error) {
	sum := shortSum(d.content.sum[:])
	if _, before = s.all[sum]; before {
		return true, nil
	}
	s.all[sum] = struct{}{}
	_, err = s.buffered.Write(sum[:])
	return false, err
}

// save flushes the hashes to the device and returns their number.
func (s *seen) save() (int64, error) {
	err := s.buffered.Flush()
	if err == nil {
		err = s.file.Sync()
	}
	return int64(len(s.all)), err
}
