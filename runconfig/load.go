package runconfig

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/configs"
	"github.com/residua-go/residua/internal/regular"
	"github.com/residua-go/residua/internal/settings"
	"github.com/residua-go/residua/internal/spelling"
	"github.com/residua-go/residua/models"
)

// Load reads a run config for designs in the zoo and applies assignments such as "train.steps=200"
// to it. The result is complete and valid; Positions tells where each key was set.
//
// file is a file, a stream such as /dev/stdin, or the name of a config of package configs, such as
// quickstart or paper/table9-rmt-305m. Such a name has no extension; a file of that name in the
// working directory takes precedence. Paths in a config are relative to the working directory,
// wherever the config is.
func Load(zoo models.Zoo, file string, sets []string) (*Run, *settings.Positions, error) {
	return LoadContext(context.Background(), zoo, file, sets)
}

// LoadContext does what Load does, but stops waiting for a stream when the context ends.
func LoadContext(ctx context.Context, zoo models.Zoo, file string, sets []string) (*Run, *settings.Positions, error) {
	name, text, err := Read(ctx, file)
	if err != nil {
		return nil, nil, err
	}
	return Parse(zoo, name, text, sets)
}

// Read returns a config's text, without its byte order mark, and the name to pass to Parse; it
// finds the config as Load does.
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

// builtInName returns the longest name of a built-in config that a path ends with, once its
// extension is removed.
func builtInName(path string) string {
	longest := ""
	for _, name := range configs.Names() {
		if (path == name || strings.HasSuffix(path, "/"+name)) && len(name) > len(longest) {
			longest = name
		}
	}
	return longest
}

// unknownConfig returns the error for a name that is neither a file nor a built-in config.
func unknownConfig(name string) error {
	return errors.Errorf("config: want a YAML file or a built-in config, got %q%s (train -configs lists them)", name, spelling.Hint(name, configs.Names()))
}

// readFile reads a file or a stream to its end, but not more than a config may have. It returns
// when the context ends, even if the stream never ends or never begins.
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
	if what := regular.Kind(text); what != "" {
		return nil, errors.Errorf("config: want a YAML file, got %s: %s", file, what)
	}
	return bytes.TrimPrefix(text, []byte(regular.ByteOrderMark)), errors.Wrap(err, "config: want a YAML file")
}
