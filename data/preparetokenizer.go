package data

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/pkg/errors"
)

// trainTokenizer trains the tokenizer on a sample of the training documents and writes its
// tokenizer.json.
func (p *Preparation) trainTokenizer(ctx context.Context, path string) error {
	var size int64
	for _, n := range p.sizes {
		size += n
	}
	kept := uint64(math.MaxUint64)
	if size > p.SampleBytes {
		kept = uint64(float64(p.SampleBytes) / float64(size) * (1 << 63) * 2)
	}
	pieces, report := map[string]int64{}, p.reporter(true)
	sample := pipeline{source: p.source, threads: p.Threads, encode: func(_ *Encoder, d *Document) error {
		err := d.examine(p.split)
		if d.side == sideValidation || binary.BigEndian.Uint64(d.content.sum[8:]) > kept { // the first 8 bytes decide the side
			d.text = ""
		}
		return err
	}}
	err := sample.each(ctx, p.files, nil, func(d Document) error {
		countPieces(pieces, d.text)
		report()
		return nil
	})
	if err != nil {
		return err
	}
	p.read.Store(0)
	vocabulary, err := trainBPE(pieces, p.train)
	if err != nil {
		return errors.Wrapf(err, "data.tokenizer %s", p.Tokenizer)
	}
	text, err := vocabulary.tokenizerJSON()
	if err != nil {
		return err
	}
	return p.Disk.WriteFile(path, text)
}

// countPieces adds one to the count of each piece of a text.
func countPieces(counts map[string]int64, text string) {
	for start := 0; start < len(text); {
		end := pieceEnd(text, start)
		counts[text[start:end]]++
		start = end
	}
}
