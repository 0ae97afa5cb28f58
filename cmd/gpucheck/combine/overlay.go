package main

import (
	_ "embed"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"text/template"

	"github.com/pkg/errors"
)

// program is one of the programs to combine.
type program struct {
	Name     string
	Command  string // import path of the package with its function Main; "": tests
	Packages []testPackage
}

// testPackage is a package with test functions.
type testPackage struct {
	Path  string
	Tests []string
	Main  bool // it has a TestMain
}

// overlay holds files that the go command sees instead of those on disk, or in addition to
// them: test files under names that are not those of tests, so that other packages can import
// them, and a program that imports them.
type overlay struct {
	folder  string            // holds the files' content
	Replace map[string]string // from the path that the go command sees to the file with its content
}

// within is the last path element of packages that do not exist on disk.
const within = "combined"

// add adds a command, or a package's test program.
func (o *overlay) add(p goPackage) (program, error) {
	if p.Name == "main" {
		return program{Name: path.Base(p.ImportPath), Command: path.Join(p.ImportPath, within)}, o.addCommand(p)
	}
	added := program{Name: path.Base(p.ImportPath) + ".test"}
	for _, group := range []struct {
		path, dir string
		files     []string
	}{{p.ImportPath, p.Dir, p.TestGoFiles}, {path.Join(p.ImportPath, within), filepath.Join(p.Dir, within), p.XTestGoFiles}} {
		t := testPackage{Path: group.path}
		for _, file := range group.files {
			text, err := os.ReadFile(filepath.Join(p.Dir, file))
			if err != nil {
				return added, errors.WithStack(err)
			}
			for _, m := range testFunction.FindAllSubmatch(text, -1) {
				if name := string(m[1]); name == "TestMain" {
					t.Main = true
				} else {
					t.Tests = append(t.Tests, name)
				}
			}
			if err := o.put(filepath.Join(group.dir, strings.TrimSuffix(file, ".go")+"_"+within+".go"), text); err != nil {
				return added, err
			}
		}
		if t.Main || len(t.Tests) > 0 {
			added.Packages = append(added.Packages, t)
		}
	}
	return added, nil
}

// testFunction matches the first line of a test function or of a TestMain.
var testFunction = regexp.MustCompile(`(?m)^func (Test(?:[^a-z(]\w*)?)\(`)

// packageMain matches the package clause of a command.
var packageMain = regexp.MustCompile(`(?m)^package main\n`)

// addCommand adds a command as a package that can be imported.
func (o *overlay) addCommand(p goPackage) error {
	dir := filepath.Join(p.Dir, within)
	for _, file := range p.GoFiles {
		text, err := os.ReadFile(filepath.Join(p.Dir, file))
		if err != nil {
			return errors.WithStack(err)
		}
		renamed := packageMain.ReplaceAll(text, []byte("package "+within+"\n"))
		if err := o.put(filepath.Join(dir, file), renamed); err != nil {
			return err
		}
	}
	return o.put(filepath.Join(dir, "entry_"+within+".go"), []byte("package "+within+"\n\nfunc Main() { main() }\n"))
}

// put makes the go command see a file with the given content.
func (o *overlay) put(seen string, text []byte) error {
	file := filepath.Join(o.folder, strconv.Itoa(len(o.Replace))+".go")
	o.Replace[seen] = file
	return errors.WithStack(os.WriteFile(file, text, 0o644))
}

//go:embed program.go.tmpl
var mainText string

// build builds the program, in a module.
func (o *overlay) build(programs []program, module, tags, file string) error {
	t, err := template.New("main").Parse(mainText)
	if err != nil {
		return errors.WithStack(err)
	}
	var text strings.Builder
	if err := t.Execute(&text, programs); err != nil {
		return errors.WithStack(err)
	}
	main := filepath.Join(module, within)
	if err := o.put(filepath.Join(main, "main.go"), []byte(text.String())); err != nil {
		return err
	}
	replaced := filepath.Join(o.folder, "overlay.json")
	list, err := json.Marshal(o)
	if err != nil {
		return errors.WithStack(err)
	}
	if err := os.WriteFile(replaced, list, 0o644); err != nil {
		return errors.WithStack(err)
	}
	_, err = goTool("build", "-trimpath", "-tags="+tags, "-ldflags=-s -w", "-overlay="+replaced, "-o", file, main)
	return err
}
