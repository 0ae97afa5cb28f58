// Package create holds the commands that start a project of the user's own: a module with a
// residual stream.
package create

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"text/template"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/models"
)

// Suite returns the commands that start a project. A new stream cannot have a name that the zoo
// uses.
func Suite(zoo models.Zoo) commandline.Suite {
	c := &call{zoo: zoo}
	return commandline.Suite{
		Name:    "new",
		Summary: "begin a Go module of your own that adds a design to Residua",
		Example: `
			new stream decay    # makes the folder decay`,
		Commands: []commandline.Command{{
			Name:    "stream",
			Summary: "write a Go module whose program is Residua with one more residual stream, to be changed into yours",
			Example: `
				new stream decay
				new stream decay -out ../decay
				new stream lanes -rows`,
			Notes: `
				The stream learns how much of itself and of each sublayer's output it keeps; with -rows it is n rows, each read and
				written by a factor computed from all. It passes Residua's conformance suite: change it step by step, and let go
				test say what is missing.`,
			Settings: c,
			Run:      c.run,
		}},
	}
}

// call holds the arguments of a call of new stream.
type call struct {
	zoo    models.Zoo
	Stream string `yaml:"name" arg:"NAME" help:"the stream's name in configs: lower-case letters, digits and hyphens"`
	Out    string `yaml:"out" help:"make the module in the folder <DIR>, which must not exist; without, NAME"`
	Rows   bool   `yaml:"rows" help:"begin with a stream of several rows, as hyper-connections have them"`
	Source string `yaml:"source" help:"use Residua's source in the folder <DIR>; without, that around the working directory, or the release of this program"`
}

// module holds the values that the templates use.
type module struct {
	Name    string // "slow-decay"
	Type    string // "SlowDecay"
	Program string // the program's name as its comment has it: "Slow-decay"
	Rows    bool
}

//go:embed stream/*.tmpl rows/*.tmpl
var templates embed.FS

// streamName matches names that can be a kind in a config, a module and a file.
var streamName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

func (c *call) run(_ context.Context, out commandline.Output) error {
	if !streamName.MatchString(c.Stream) {
		return commandline.Usagef("NAME: want lower-case letters, digits and hyphens, such as slow-decay, got %q", c.Stream)
	}
	if _, err := c.zoo.Stream(c.Stream); err == nil {
		return commandline.Usagef("NAME: Residua has a stream %s already: choose another name", c.Stream)
	}
	dir := c.Out
	if dir == "" {
		dir = c.Stream
	}
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		return commandline.Usagef("-out: want a folder that does not exist yet, got %s", dir)
	}
	files, work, err := c.files(dir)
	if err != nil {
		return commandline.Usage(err)
	}
	if err := writeFolder(dir, files); err != nil {
		return err
	}
	return out.Print(next(dir, c.Stream, work))
}

// files returns the module's files by name. work tells whether a folder above dir has a go.work.
func (c *call) files(dir string) (files map[string][]byte, work bool, err error) {
	m := module{Name: c.Stream, Rows: c.Rows}
	for _, word := range strings.Split(c.Stream, "-") {
		m.Type += strings.ToUpper(word[:1]) + word[1:]
	}
	m.Program = strings.ToUpper(m.Name[:1]) + m.Name[1:]
	if files, work, err = c.moduleFiles(dir); err != nil {
		return nil, false, err
	}
	patterns := []string{"stream/*.tmpl"}
	if c.Rows {
		patterns = []string{"stream/main.go.tmpl", "rows/*.tmpl"}
	}
	all, err := template.ParseFS(templates, patterns...)
	if err != nil {
		return nil, false, err
	}
	for _, t := range all.Templates() {
		var text bytes.Buffer
		if err := t.Execute(&text, m); err != nil {
			return nil, false, err
		}
		name := strings.TrimSuffix(t.Name(), ".tmpl")
		if name == "config.yaml" {
			name = m.Name + ".yaml"
		}
		files[name] = text.Bytes()
	}
	return files, work, nil
}

// writeFolder makes the folder with all files. After an error it leaves nothing.
func writeFolder(dir string, files map[string][]byte) (err error) {
	parent, name := filepath.Split(filepath.Clean(dir))
	if err := os.MkdirAll(filepath.Clean(parent+"."), 0o777); err != nil {
		return err
	}
	half, err := os.MkdirTemp(parent, name+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(half)
		}
	}()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(half, name), content, 0o666); err != nil {
			return err
		}
	}
	if err := os.Chmod(half, 0o755); err != nil {
		return err
	}
	return os.Rename(half, dir)
}

// next says what to type next.
func next(dir, name string, work bool) string {
	lines := fmt.Sprintf("Next:\n  cd %s\n", quoted(dir))
	if work {
		lines += "  export GOWORK=off    # the folder is no part of the go.work above it\n"
	}
	return lines + fmt.Sprintf("  go test .\n  go run . train -config %s.yaml\n", name)
}

// quoted quotes a path for a shell or a go.mod, if it needs quotes.
func quoted(path string) string {
	if strings.ContainsAny(path, " ()[]{}'`,;&$") {
		return strconv.Quote(path)
	}
	return path
}
