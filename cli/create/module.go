package create

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/clone"
)

// moduleFiles returns go.mod and, if the module uses Residua's source, go.sum.
func (c *call) moduleFiles(dir string) (files map[string][]byte, work bool, err error) {
	source := c.Source
	if source == "" {
		source = clone.Around(".")
	}
	if source == "" {
		info, _ := debug.ReadBuildInfo()
		version, released := release(info)
		if !released {
			return nil, false, errors.New("-source: want the folder of Residua's source: it is not around the working directory, and this program is no release")
		}
		text := fmt.Sprintf("module %s\n\ngo 1.26.0\n\nrequire %s %s\n", c.Stream, clone.Module, version)
		return map[string][]byte{"go.mod": []byte(text)}, false, nil
	}
	if !clone.Is(source) {
		return nil, false, errors.Errorf("-source: want a folder with the go.mod of %s, got %s", clone.Module, source)
	}
	text, err := os.ReadFile(filepath.Join(source, "go.mod"))
	if err != nil {
		return nil, false, err
	}
	sums, err := os.ReadFile(filepath.Join(source, "go.sum"))
	if err != nil {
		return nil, false, err
	}
	from, err := relative(dir, source)
	if err != nil {
		return nil, false, err
	}
	_, rest, _ := strings.Cut(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n") // after its first line, module
	rest = toolLine.ReplaceAllString(rest, "")
	mod := fmt.Sprintf("module %s\n%s\nrequire %s v0.0.0\n\nreplace %s => %s\n", c.Stream, rest, clone.Module, clone.Module, quoted(from))
	_, err = os.Stat(filepath.Join(source, "go.work"))
	return map[string][]byte{"go.mod": []byte(mod), "go.sum": sums}, err == nil && within(from), nil
}

// toolLine matches a directive of Residua's go.mod that other modules do not need.
var toolLine = regexp.MustCompile(`(?m)^tool .*\n`)

// relative returns the path from one folder to another, as a replace directive has it. If there is
// no relative path, it returns the absolute one.
func relative(from, to string) (string, error) {
	from, err := filepath.Abs(from)
	if err != nil {
		return "", err
	}
	if to, err = filepath.Abs(to); err != nil {
		return "", err
	}
	if way, err := filepath.Rel(from, to); err == nil {
		to = way
	}
	return filepath.ToSlash(to), nil
}

// within tells whether a relative path only leads up.
func within(way string) bool {
	return strings.Trim(way, "./") == ""
}

// release returns the version of Residua in a program that was built from a release.
func release(info *debug.BuildInfo) (version string, released bool) {
	if info == nil {
		return "", false
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == clone.Module && m.Replace == nil && releaseVersion.MatchString(m.Version) {
			return m.Version, true
		}
	}
	return "", false
}

// releaseVersion matches released versions and no pseudo-versions.
var releaseVersion = regexp.MustCompile(`^v\d+\.\d+\.\d+$`)
