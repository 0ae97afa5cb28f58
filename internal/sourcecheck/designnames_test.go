package sourcecheck

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/models"
)

// list is the one file that may name all designs.
const list = "models/zoo.go"

// TestOnlyTheListNamesDesigns: in the Go files of the module except tests, only the list has the
// name of a stream's design as a string literal, apart from the method that returns it; and only
// package stream refers to the struct of a design.
func TestOnlyTheListNamesDesigns(t *testing.T) {
	atRoot(t)
	d := designsOf(models.Standard())
	for _, path := range sources(t) {
		if path != list {
			assert.Empty(t, d.in(parse(t, path)), "%s names designs: ask models.Spec.Design or Shape, or the zoo", path)
		}
	}
}

// own tells whether a file is named for a design, as naive_mudd_test.go is for mudd.
func own(path, design string) bool {
	plain := func(text string) string { return strings.NewReplacer("-", "", "_", "").Replace(text) }
	words := strings.TrimSuffix(filepath.Base(path), "_test.go")
	for _, prefix := range []string{"mixing_", "naive_", "reference_"} {
		words = strings.TrimPrefix(words, prefix)
	}
	return plain(words) == plain(design)
}

// examples lists tests outside a design's own files that may name designs or presets, with their
// reasons.
func examples() map[string][]string {
	return map[string][]string{
		"their commands and configs name a preset or a kind as a user would, any would do": {
			"cli/analyze_test.go",
			"cli/analyze_flags_test.go",
			"cli/bench_zoo_test.go",
			"cli/experiment_committed_test.go",
			"runconfig/canonical_test.go",
			"runconfig/keys_test.go",
			"runconfig/text_test.go",
			"runconfig/zoo_test.go",
			"experiment/bench/designs_test.go",
			"experiment/bench/failures_test.go",
			"experiment/bench/workload_test.go",
			"experiment/cards_test.go",
			"experiment/coordinates_test.go",
			"experiment/factors_test.go",
			"models/record_device_test.go",
			"trainer/mixing_test.go",
			"trainer/resume_test.go",
		},
		"the wording of errors and tables is of single designs": {
			"analysis/theory/resources_test.go",
			"cli/models/models_test.go",
			"cli/models/residuals_test.go",
			"runconfig/model_test.go",
			"models/validate_test.go",
			"pretrained/export_test.go",
			"pretrained/format_test.go",
		},
		"files of version 1, and the RMT paper's runs, are of designs that there were": {
			"runconfig/paper_test.go",
			"runconfig/version1_test.go",
			"models/version1_test.go",
			"trainer/version1_test.go",
		},
		"several designs of one family share what is tested: rows, their coefficients and start": {
			"models/form_test.go",
			"models/ihc_test.go",
			"models/init_zoo_test.go",
			"models/mixing_test.go",
			"models/oneform_test.go",
			"models/plain_test.go",
			"stream/form_test.go",
		},
		"a design stands for a property, and nothing asks for it yet": {
			"analysis/cache_test.go",
			"analysis/report/report_test.go",
			"analysis/report/settings_test.go",
			"models/fields_walk_test.go",
			"models/hooks_test.go",
			"models/memory_test.go",
			"models/moe_test.go",
			"models/zoo_duplicate_test.go",
			"models/zoo_test.go",
		},
	}
}

// TestFewTestsNameDesigns: tests name only matrix and vector, which are trained where any design
// would do, and no presets of other designs, except in the design's own files and in the listed
// ones. A test of a property asks the zoo for it; numbers that a test expects of a design are in
// testdata/designs.
func TestFewTestsNameDesigns(t *testing.T) {
	atRoot(t)
	d := designsOf(models.Standard())
	plain := []string{"matrix", "vector"}
	presets := map[string]string{}
	for _, p := range models.Standard().Presets() {
		presets[p.Name] = p.Config.Stream.Name()
	}
	listed := map[string]bool{}
	for _, files := range examples() {
		for _, path := range files {
			require.False(t, listed[path], "%s twice", path)
			listed[path] = true
		}
	}
	for _, path := range goFiles(t, true) {
		var named []string
		for _, name := range d.mentioned(parse(t, path), presets) {
			if !slices.Contains(plain, name) && !own(path, name) {
				named = append(named, name)
			}
		}
		if listed[path] {
			assert.NotEmpty(t, named, "%s names no design any more: take it from the list", path)
			delete(listed, path)
			continue
		}
		assert.Empty(t, named, "%s names designs: ask the zoo for what the test needs, or put numbers into testdata/designs/NAME.yaml", path)
	}
	assert.Empty(t, listed, "files of the list that are not there")
}

// mentioned returns the designs that a test names: by a literal, by a preset's name, by the kind in
// a config, or by a struct.
func (d designs) mentioned(file *ast.File, presets map[string]string) (names []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			n.Tag = nil
		case *ast.SelectorExpr:
			if i := slices.Index(d.structs, n.Sel.Name); i >= 0 {
				names = append(names, d.names[i])
			}
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			if n.Kind != token.STRING || err != nil {
				break
			}
			for i, word := range words.FindAllString(text, -1) {
				kind := strings.Contains(text, "kind: "+word) || strings.Contains(text, "kind="+word)
				if slices.Contains(d.names, word) && (kind || text == word && i == 0) {
					names = append(names, word)
				} else if presets[word] != "" {
					names = append(names, presets[word])
				}
			}
		}
		return true
	})
	return names
}

// words matches possible names of designs and presets.
var words = regexp.MustCompile(`[a-z0-9]+(-[a-z0-9]+)*`)

// TestNamesAreFound: the test finds a name and a struct, and ignores what only looks like one.
func TestNamesAreFound(t *testing.T) {
	atRoot(t)
	file, err := parser.ParseFile(token.NewFileSet(), "x.go", `package x
type c struct { Matrix int `+"`yaml:\"matrix\"`"+` }
func f() any { return stream.HyperConfig{N: len("mhc") + len("mhcs") + other.HyperConfig} }
func (c) Name() string { return "vector" }`, parser.SkipObjectResolution)
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"stream.HyperConfig", `"mhc"`, `"vector"`}, designsOf(models.Standard()).in(file))
	file.Name.Name = streams
	assert.ElementsMatch(t, []string{"stream.HyperConfig", `"mhc"`}, designsOf(models.Standard()).in(file))
}

// sources returns the paths of the module's Go files except tests, with slashes, relative to its
// root.
func sources(t *testing.T) []string {
	paths := goFiles(t, false)
	require.Contains(t, paths, list)
	return paths
}

// goFiles returns the module's Go files: the tests or the others.
func goFiles(t *testing.T, tests bool) (paths []string) {
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			name := d.Name()
			if name == "testdata" || name == "shared" || name == "build" || strings.HasPrefix(name, ".") && name != "." || isModule(path) {
				return filepath.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(path, ".go") && strings.HasSuffix(path, "_test.go") == tests {
			paths = append(paths, filepath.ToSlash(path))
		}
		return nil
	}))
	return paths
}

// isModule tells whether a folder below the root is a module of its own.
func isModule(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil && folder != "."
}

// streams is the package with the designs.
const streams = "stream"

// designs holds the names of streams' designs and of their structs.
type designs struct{ names, structs []string }

func designsOf(zoo models.Zoo) designs {
	d := designs{names: zoo.StreamNames()}
	for _, s := range zoo.Streams() {
		d.structs = append(d.structs, reflect.TypeOf(s).Name())
	}
	return d
}

// in returns the designs that a file names, as literals or by their structs; a file of package
// stream may have the name that a method Name in it returns.
func (d designs) in(file *ast.File) []string {
	var found, own []string
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv != nil && n.Name.Name == "Name" && file.Name.Name == streams {
				own = append(own, d.returned(n)...)
			}
		case *ast.Field: // whose tag is a literal too
			n.Tag = nil
		case *ast.SelectorExpr:
			if of, ok := n.X.(*ast.Ident); ok && of.Name == streams && slices.Contains(d.structs, n.Sel.Name) {
				found = append(found, streams+"."+n.Sel.Name)
			}
		case ast.Expr:
			if d.isName(n) {
				found = append(found, n.(*ast.BasicLit).Value)
			}
		}
		return true
	})
	return slices.DeleteFunc(found, func(name string) bool { return slices.Contains(own, name) })
}

// returned returns the names of designs that a function returns.
func (d designs) returned(f *ast.FuncDecl) []string {
	var literals []string
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if r, ok := n.(*ast.ReturnStmt); ok && len(r.Results) == 1 && d.isName(r.Results[0]) {
			literals = append(literals, r.Results[0].(*ast.BasicLit).Value)
		}
		return true
	})
	return literals
}

// isName tells whether an expression is a string literal that is the name of a design.
func (d designs) isName(e ast.Expr) bool {
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return false
	}
	value, err := strconv.Unquote(literal.Value)
	return err == nil && slices.Contains(d.names, value)
}

func parse(t *testing.T, path string) *ast.File {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	return file
}
