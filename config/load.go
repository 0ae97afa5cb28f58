package config

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/configs"
	"github.com/residua-go/residua/internal/spelling"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/settings"
)

// Load reads a run config of designs in the zoo and applies assignments such as "train.steps=200" to it. The
// result is complete and valid; Positions tells where each key came from.
//
// file is a file, a stream such as /dev/stdin, or the name of a config of package configs,
// such as quickstart or paper/table9-rmt-305m. A name has no extension; a file of that name in
// the working directory comes first. Paths in a config start at
// the working directory, wherever the config lies.
func Load(zoo models.Zoo, file string, sets []string) (*Run, *settings.Positions, error) {
	return LoadContext(context.Background(), zoo, file, sets)
}

// LoadContext is Load that ends with the context while it waits for a stream.
func LoadContext(ctx context.Context, zoo models.Zoo, file string, sets []string) (*Run, *settings.Positions, error) {
	name, text, err := Read(ctx, file)
	if err != nil {
		return nil, nil, err
	}
	return Parse(zoo, name, text, sets)
}

// Read returns a config's text, and the name of its file for Parse, as Load finds them.
func Read(ctx context.Context, file string) (name string, text []byte, err error) {
	base := filepath.Base(file)
	extension := filepath.Ext(base)
	builtIn := extension == "" && slices.Contains(configs.Names(), filepath.ToSlash(file))
	isName := builtIn || base == file && extension == ""
	info, err := os.Stat(file)
	switch {
	case err == nil && !info.IsDir():
		text, err = readFile(ctx, file)
		return file, text, err
	case builtIn:
		return configs.Read(filepath.ToSlash(file))
	case err == nil:
		return "", nil, errors.Errorf("config: want a YAML file, got the folder %s", file)
	case isName:
		return "", nil, unknownConfig(file)
	}
	if name := builtInName(strings.TrimSuffix(filepath.ToSlash(file), extension)); name != "" {
		return "", nil, errors.Errorf("config: want a YAML file: %v; the built-in config of that name is found by -config %s", err, name)
	}
	return "", nil, errors.Errorf("config: want a YAML file: %v", err)
}

// builtInName is the longest name of a built-in config that a path, without its extension, ends in.
func builtInName(path string) string {
	longest := ""
	for _, name := range configs.Names() {
		if (path == name || strings.HasSuffix(path, "/"+name)) && len(name) > len(longest) {
			longest = name
		}
	}
	return longest
}

// unknownConfig is the error of a name that is neither a file nor a built-in config.
func unknownConfig(name string) error {
	return errors.Errorf("config: want a YAML file or a built-in config, got %q%s (train -configs lists them)", name, spelling.Hint(name, configs.Names()))
}

// readFile reads a file or a stream to its end, but no more than a config may have. A
// stream that never ends, or never begins, does not hold up the end of the context.
func readFile(ctx context.Context, file string) ([]byte, error) {
	type result struct {
		text []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := readBounded(file)
		done <- result{text, err}
	}()
	select {
	case <-ctx.Done():
		return nil, errors.Wrapf(ctx.Err(), "config: %s", file)
	case r := <-done:
		return r.text, r.err
	}
}

func readBounded(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, errors.Wrap(err, "config: want a YAML file")
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, settings.MaxText+1))
	if err == nil && len(text) > settings.MaxText {
		return nil, errors.Errorf("%s: want at most %d bytes of YAML, got more", file, settings.MaxText)
	}
	return text, errors.Wrap(err, "config: want a YAML file")
}
