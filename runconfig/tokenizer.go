package runconfig

import (
	"cmp"
	"os"
	"path/filepath"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/internal/settings"
)

// TokenizerFolder is the folder of a run that has a copy of its tokenizer's files, if it reads text
// by a tokenizer in files.
const TokenizerFolder = "tokenizer"

// UseCopy makes the section read the copy of its tokenizer in the folder of a run, if there is one.
func (d *Data) UseCopy(run string) {
	copied := filepath.Join(run, TokenizerFolder, filepath.Base(d.Tokenizer))
	if data.IsTokenizerFile(d.Tokenizer) && exists(copied) {
		d.TokenizerName, d.Tokenizer = d.named(), copied
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// named returns the tokenizer in the config of the run.
func (d Data) named() string { return cmp.Or(d.TokenizerName, d.Tokenizer) }

// tokenizer returns the tokenizer of a run whose config is in a file. If the tokenizer's own file
// is gone, it returns the copy next to the config.
func (r *Run) tokenizer(file string, where *settings.Positions) (data.Tokenizer, error) {
	if data.IsGGUF(r.Data.Tokenizer) {
		return nil, where.Errorf("data.tokenizer", "want a tokenizer.json, got the GGUF file %s: "+
			"residua convert -format huggingface writes its tokenizer.json", r.Data.Tokenizer)
	}
	known := data.TokenizerNames()
	if own, ok := r.Data.Source.(data.Tokenized); ok {
		known = []string{own.Tokenizer().Name()}
		if where.Of("data.tokenizer") == "" {
			r.Data.Tokenizer = known[0]
		}
	}
	if !data.IsTokenizerFile(r.Data.Tokenizer) {
		if err := oneOf(where, "data.tokenizer", r.Data.Tokenizer, known...); err != nil {
			return nil, err
		}
	} else if !exists(r.Data.Tokenizer) {
		r.Data.UseCopy(filepath.Dir(file))
	}
	return data.TokenizerOf(r.Data.Source, r.Data.Tokenizer)
}
