package data

import "github.com/pkg/errors"

// preTokenizer is the part of a tokenizer.json that says how to split text into pieces.
type preTokenizer struct {
	step
	Steps       []preTokenizer `json:"pretokenizers"` // of a Sequence
	Individual  bool           `json:"individual_digits"`
	PrefixSpace *bool          `json:"add_prefix_space"` // absent: true
	UseRegex    *bool          `json:"use_regex"`        // absent: true
	Pattern     pattern        `json:"pattern"`
	Replacement string         `json:"replacement"` // of Metaspace, with the two below
	Prepend     string         `json:"prepend_scheme"`
	Split       *bool          `json:"split"` // absent: true
	Behavior    string         `json:"behavior"`
	Invert      bool           `json:"invert"`
}

// cutters returns the cutters of a byte-level pre-tokenizer, alone or after other steps that
// split by a known rule. Anything else is an error.
func (p *preTokenizer) cutters() ([]cutter, error) {
	if p == nil {
		return nil, errors.New("pre_tokenizer: want ByteLevel, got none")
	}
	steps := []preTokenizer{*p}
	if p.Type == "Sequence" {
		steps = p.Steps
	}
	var cutters []cutter
	for i, s := range steps {
		cut, err := s.cutter()
		if err != nil {
			return nil, err
		}
		if cut != nil {
			cutters = append(cutters, cut)
		}
		if last := i == len(steps)-1; last != (s.Type == "ByteLevel") {
			return nil, errors.Errorf("pre_tokenizer: want ByteLevel as the last step and no other, got %s as step %d of %d", s.Type, i+1, len(steps))
		}
	}
	if len(cutters) == 0 {
		return nil, errors.New("pre_tokenizer: want a rule by which pieces are cut, got none")
	}
	return cutters, nil
}

// cutter returns the cutter of one step, nil if the step does not split.
func (p preTokenizer) cutter() (cutter, error) {
	switch p.Type {
	case "ByteLevel":
		if p.PrefixSpace == nil || *p.PrefixSpace {
			return nil, errors.New("pre_tokenizer: add_prefix_space: want false, got true: text with a space put before it is not supported")
		}
		if p.UseRegex == nil || *p.UseRegex {
			return pieceEnd, nil
		}
		return nil, nil
	case "Digits":
		return digitPieces(p.Individual), nil
	case "Split":
		if p.Behavior != "Isolated" || p.Invert {
			return nil, errors.Errorf("pre_tokenizer: Split: want behavior Isolated, got %s, invert %t", p.Behavior, p.Invert)
		}
		switch p.Pattern.Regex {
		case llama3Pattern:
			return llamaPieces(3), nil
		case qwenPattern:
			return llamaPieces(1), nil
		case o200kPattern:
			return o200kEnd, nil
		}
		return nil, errors.Errorf("pre_tokenizer: Split: want the pattern of Llama 3, of Qwen 2 and 3, or of o200k, got %.80q", p.Pattern.Regex)
	}
	return nil, errors.Errorf("pre_tokenizer: want ByteLevel, Digits or Split, got %q: it is not supported", p.Type)
}

// normalizer is the part of a tokenizer.json that says how text is normalized first.
type normalizer struct {
	step
	Steps   []normalizer `json:"normalizers"` // of a Sequence
	Prepend string       `json:"prepend"`
	Pattern pattern      `json:"pattern"`
	Content string       `json:"content"`
}

// nfc returns what normalizes text, nil if nothing does.
func (n *normalizer) nfc() (*nfc, error) {
	switch {
	case n == nil:
		return nil, nil
	case n.Type == "NFC":
		return nfcTables(), nil
	case n.Type != "Sequence":
		return nil, errors.Errorf("normalizer: want none or NFC, alone or in a Sequence, got %q: it is not supported", n.Type)
	}
	var all *nfc
	for _, s := range n.Steps {
		one, err := s.nfc()
		if err != nil {
			return nil, err
		}
		if one != nil {
			all = one
		}
	}
	return all, nil
}
