package data

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// fileSource is text in files: see Source.Paths.
type fileSource struct {
	paths []string
	field string // of .jsonl lines
}

// TextExtensions lists the extensions of the files that are read in a folder.
// A file that is named itself, or by a glob, may have any.
func TextExtensions() []string {
	return []string{
		".txt", ".text", ".md", ".rst", ".tex", ".html", ".htm", ".xml", ".csv", ".tsv",
		".json", ".jsonl", ".yaml", ".yml", ".toml",
		".go", ".s", ".c", ".h", ".cc", ".cpp", ".hpp", ".rs", ".py", ".js", ".ts",
		".java", ".kt", ".swift", ".rb", ".php", ".lua", ".jl", ".r", ".sql", ".sh",
	}
}

func (s fileSource) files(ctx context.Context) ([]file, error) {
	return expandPaths(ctx, KindFiles, s.paths, textFolder)
}

// textFolder lists the text files of a folder and those below it.
func textFolder(ctx context.Context, folder string) ([]file, error) {
	extensions := TextExtensions()
	files, err := walkFiles(ctx, folder, func(name string) bool {
		if slices.ContainsFunc(strings.Split(name, "/"), hidden) {
			return false
		}
		return slices.Contains(extensions, textExtension(name))
	})
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.Errorf("%s: no text file in this folder: want %s, each optionally with .gz or .zst; name other files by a glob",
			folder, strings.Join(extensions, " "))
	}
	return files, nil
}

// textExtension returns a name's extension in lower case, that of the
// compression left out.
func textExtension(name string) string {
	name = strings.ToLower(name)
	return path.Ext(strings.TrimSuffix(name, compression(name)))
}

func (s fileSource) read(ctx context.Context, f file, enc *encoder, emit func(document) error) error {
	if textExtension(f.name) == ".jsonl" {
		return readJSONL(ctx, f, s.field, enc, emit)
	}
	text, err := readText(ctx, f.disk)
	if err != nil || text == "" {
		return err
	}
	return emit(enc.document(f.name, text))
}
