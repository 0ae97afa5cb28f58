package data

import (
	"crypto/sha256"
	"strings"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// content is what a Preparation wants to know of a document's text.
type content struct {
	sum   [sha256.Size]byte
	bytes int64
	utf8  bool // whether all of it is UTF-8
}

// examine fills in the content of a document of text and assigns the document to a side.
func (d *Document) examine(split splitRule) error {
	if d.blank {
		return nil
	}
	if !d.waiting {
		return errors.Errorf("%s: want a document of text, got one of tokens: only text can be prepared", d.Name)
	}
	if err := d.checkText(); err != nil {
		return err
	}
	d.content = content{sha256.Sum256([]byte(d.text)), int64(len(d.text)), utf8.ValidString(d.text)}
	d.side = split.sideOf(d.content.sum)
	return nil
}

// checkText returns an error if a document's text cannot be text.
func (d *Document) checkText() error {
	for _, text := range d.texts() {
		if at := strings.IndexByte(text, 0); at >= 0 {
			return errors.Errorf("%s: want text, got a NUL at byte %d: it is a binary file or damaged; take it out", d.Name, at)
		}
	}
	return nil
}

// texts returns the texts that a document consists of until it is encoded.
func (d *Document) texts() []string {
	all := []string{d.text}
	for _, t := range d.turns {
		all = append(all, t.text)
	}
	return all
}
