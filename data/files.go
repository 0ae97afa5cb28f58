package data

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// fileSource reads text from files; see Options.Paths.
type fileSource struct {
	paths       []string
	separator   string // Files.Separator
	field       string // text field of .jsonl lines
	byExtension bool   // files without an extension are not text
	disk        diskReader
	formats     []Format

	sniffed bool     // some files were recognised by their content; set by files
	skipped []string // quoted names of files in folders that are not text; set by files
	walked  walkNotes
}

// textExtensions lists the extensions of the files that are read in a folder. A file without an
// extension is read if it begins with text. A file that is named directly, or by a glob, may have
// any extension.
func textExtensions() []string {
	return strings.Fields(`
		.txt .text .md .rst .tex .html .htm .xml .csv .tsv .json .jsonl .ndjson .jsonlines .yaml .yml .toml
		.go .s .c .h .cc .cpp .hpp .rs .py .js .ts .java .kt .swift .rb .php .lua .jl .r .sql .sh`)
}

func (s *fileSource) Files(ctx context.Context) ([]File, error) {
	return expandPaths(ctx, Files{}.Name(), s.paths, s.folder, &s.walked)
}

// folder lists the text files of a folder and those below it.
func (s *fileSource) folder(ctx context.Context, folder string) ([]File, error) {
	extensions := textExtensions()
	for _, format := range s.formats {
		extensions = append(extensions, format.Extension)
	}
	var others []string
	walk := walk{notes: &s.walked, enter: func(name string) bool { return !hidden(path.Base(name)) && !s.passShards(folder, name) }}
	walk.wanted = func(name string) bool {
		if hidden(path.Base(name)) {
			return false
		}
		known := slices.Contains(extensions, textExtension(name))
		if !known {
			others = append(others, name)
		}
		return known
	}
	files, err := walk.files(ctx, folder)
	if err != nil {
		return nil, err
	}
	more, err := s.sniff(ctx, folder, others)
	if err != nil {
		return nil, err
	}
	files = append(files, more...)
	if len(files) == 0 {
		return nil, errors.Errorf("%s: no text file in this folder: want %s, or text without an extension, each optionally with .gz or .zst; "+
			"name other files by a glob", folder, strings.Join(extensions, " "))
	}
	return files, nil
}

// passShards tells whether a folder below another one holds token shards, whose descriptions are
// not text to train on, and takes note of it.
func (s *fileSource) passShards(folder, name string) bool {
	shards := HasShards(filepath.Join(folder, name))
	if shards {
		s.walked.pass(name, errors.New("a folder of token shards"))
	}
	return shards
}

// textExtension returns a name's extension in lower case, ignoring that of a compression.
func textExtension(name string) string {
	name = strings.ToLower(name)
	return path.Ext(strings.TrimSuffix(name, compression(name)))
}

func (s *fileSource) Read(ctx context.Context, f File, enc *Encoder, emit func(Document) error) error {
	add := func(number int, text string) error {
		name := fmt.Sprintf("%s:%d", f.Name, number)
		if text == "" {
			return emit(Document{Name: name, blank: true})
		}
		return emit(enc.Document(name, text))
	}
	extension := textExtension(f.Name)
	if i := slices.IndexFunc(s.formats, func(format Format) bool { return format.Extension == extension }); i >= 0 {
		return s.formats[i].readFile(ctx, s.disk, f, s.field, add)
	}
	return s.disk.open(ctx, f.Disk, func(in *bufio.Reader) error {
		texts := textField{path: f.Disk, field: s.field, emit: add}
		if slices.Contains(lineExtensions(), extension) {
			return cmp.Or(s.disk.eachObject(in, f.Disk, texts.object), texts.end())
		}
		sniffer := jsonSniffer{s.field, extension == ".json", f.named || compression(f.Name) != "", int(s.disk.longestLine())}
		in, objects := sniffer.sniff(in)
		switch {
		case objects:
			return cmp.Or(s.disk.objects(in, f.Disk, texts.object), texts.end())
		case s.separator != "":
			return s.disk.separated(in, f.Disk, s.separator, add)
		}
		text, err := s.disk.text(in, f.Disk)
		if err != nil || text == "" {
			return err
		}
		return emit(enc.Document(f.Name, text))
	})
}
