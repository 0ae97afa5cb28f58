package experiment

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/runconfig"
)

// baseFile is the name of the copy of the base config in an experiment's folder. It is made
// when the first run begins, so that editing the config later does not change the experiment.
const baseFile = "base.yaml"

// base is the config that all runs start from.
type base struct {
	name string // name of its file, for messages
	text string
	kept bool // it was read from the experiment's folder
}

// baseHead is the comment at the beginning of the copy.
func baseHead(name string) string {
	return fmt.Sprintf("# %s, as it was when this experiment began.\n", filepath.ToSlash(name))
}

// readBase reads the folder's copy of the base config or, if there is none, the config itself.
func (p *Plan) readBase(ctx context.Context) error {
	c, file := p.Config, filepath.Join(p.out, baseFile)
	name, now, missing := runconfig.Read(ctx, c.Base)
	itself := filepath.Clean(c.Base) == filepath.Clean(file)
	kept, err := os.ReadFile(file)
	switch {
	case missing != nil && (itself || os.IsNotExist(err)):
		return setupError(errors.WithMessage(missing, "base"))
	case itself, os.IsNotExist(err):
		p.base = base{name, string(now), itself}
		return nil
	case err != nil:
		return errors.WithStack(err)
	}
	p.base = base{file, string(kept), true}
	head := strings.TrimSuffix(baseHead(c.Base), "\n")
	if first, _, _ := strings.Cut(p.base.text, "\n"); strings.TrimSuffix(first, "\r") != head {
		return setupError(c.where.Errorf("base", "want the config that %s begins with, %q, got %s: choose another -out", file, first, c.Base))
	}
	if missing == nil && withoutComments(string(now)) != withoutComments(p.base.text) {
		p.Notes = append(p.Notes, fmt.Sprintf("%s has changed since the experiment began, which goes on with %s; for the new one choose another -out", c.Base, file))
	}
	return nil
}

// keepBase copies the base config into the experiment's folder.
func (p *Plan) keepBase() error {
	if p.base.kept {
		return nil
	}
	return p.disk.WriteFile(filepath.Join(p.out, baseFile), []byte(baseHead(p.Config.Base)+p.base.text))
}

// withoutComments removes a config's comments and blank lines.
func withoutComments(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if i := strings.Index(" "+line, " #"); i >= 0 {
			line = line[:i]
		}
		if line = strings.TrimRight(line, " \t\r\n"); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// digest returns the identity of a run in logs from before runconfig.Run.Canonical existed: a
// digest of the base config's text and the settings.
func (b base) digest(settings []string) string {
	return fmt.Sprintf("%.8x", sha256.Sum256([]byte(withoutComments(b.text)+"\n"+strings.Join(settings, "\n"))))
}
