package kernel

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// hard has one of each thing that a table must get right or leave out.
const hard = `package hard

import "sort"

const (
	Huge          = 1 << 100
	Big           = 1<<64 - 1
	Third         = 1.0 / 3
	Quoted        = "a\"b\n"
	Flag          = true
	Letter        = 'x'
	Turn          = 2i
	Typed   Level = 3
	private       = 4
)

var Counter, hidden int

type Level uint8

type inner struct{}

func (inner) Promoted() {}
func (inner) unexported() {}

type Outer struct {
	inner
	sort.Interface
	n int
}

func (*Outer) Own() {}

type List[T any] struct{ values []T }

type Ints = List[int]

type Number interface{ ~int | ~float64 }

type Speaker interface{ Speak() string }

type Alias = sort.IntSlice

func Plain(level Level) inner { return inner{} }

func Generic[T Number](t T) T { return t }

func quiet() {}
`

// checked type-checks a source file.
func checked(t *testing.T, path, source string) *types.Package {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "hard.go", source, 0)
	require.NoError(t, err)
	config := types.Config{Importer: importer.ForCompiler(set, "source", nil)}
	p, err := config.Check(path, set, []*ast.File{file}, nil)
	require.NoError(t, err)
	return p
}

func TestTableOfAHardPackage(t *testing.T) {
	table := newTable(checked(t, "example.org/very/hard", hard))
	require.Equal(t, []string{
		`"Big": {},`,
		`"Counter": reflect.ValueOf(&p.Counter).Elem(),`,
		`"Flag": {},`,
		`"Huge": {},`,
		`"Letter": {},`,
		`"Plain": reflect.ValueOf(p.Plain),`,
		`"Quoted": {},`,
		`"Third": {},`,
		`"Turn": {},`,
		`"Typed": reflect.ValueOf(p.Typed),`,
	}, table.binds, "no generic function, nothing unexported")
	require.Equal(t, []string{
		`"Alias": reflect.TypeFor[p.Alias](),`,
		`"Ints": reflect.TypeFor[p.Ints](),`,
		`"Level": reflect.TypeFor[p.Level](),`,
		`"Outer": reflect.TypeFor[p.Outer](),`,
		`"Speaker": reflect.TypeFor[p.Speaker](),`,
	}, table.types, "no type with parameters, no constraint")
	require.Equal(t, []string{
		`"Big": "int:18446744073709551615",`,
		`"Flag": "bool:true",`,
		`"Huge": "int:1267650600228229401496703205376",`,
		`"Letter": "rune:120",`,
		`"Quoted": "string:a\"b\n",`,
		`"Third": "float:1/3",`,
		`"Turn": "complex:0:2",`,
	}, table.untypeds)
	require.Equal(t, []string{`"Outer": {"Len", "Less", "Promoted", "Swap"},`}, table.wrappers)
	require.False(t, table.empty())
}

// TestTableSource parses what is generated: names that end like a test's or another system's.
func TestTableSource(t *testing.T) {
	made := newTable(checked(t, "example.org/hard_test", hard))
	require.Equal(t, "of_example_org_hard_test_table.go", made.file())
	text, err := made.source()
	require.NoError(t, err)
	_, err = parser.ParseFile(token.NewFileSet(), "table.go", text, 0)
	require.NoError(t, err)
	require.Contains(t, string(text), `p "example.org/hard_test"`)
	require.Contains(t, string(text), "func of_example_org_hard_test() imports.Package {")
	index, err := indexSource([]table{made})
	require.NoError(t, err)
	require.Contains(t, string(index), `"example.org/hard_test": of_example_org_hard_test(),`)
}

func TestPackageThatExportsNothingIsEmpty(t *testing.T) {
	table := newTable(checked(t, "example.org/empty", "package empty\n\nfunc f() {}\n\nfunc G[T any]() {}\n"))
	require.True(t, table.empty())
}

func TestPackagesAreListedOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, path := range Packages() {
		require.False(t, seen[path], path)
		require.NotContains(t, path, "/internal/")
		seen[path] = true
	}
	require.True(t, seen["gorgonia.org/gorgonia"])
}

func TestMergeSums(t *testing.T) {
	require.Equal(t, "a\nb\nc\n", mergeSums("c\na\n", "b\na"))
}

func TestModuleFiles(t *testing.T) {
	files, err := newModuleFiles("../../..", "../../../build/notebooks")
	require.NoError(t, err)
	require.Contains(t, files.kernel["go.mod"], `github.com/residua-go/residua => "../../.."`)
	require.Contains(t, files.kernel["go.mod"], "\ngodebug gotypesalias=0\n")
	gophernotes, gomacro := upstreams()
	for _, u := range []upstream{gophernotes, gomacro} { // the checksum of what is downloaded is known
		require.Equal(t, 2, strings.Count(files.download["go.sum"], u.module+" "+u.version), u.module)
	}
	for _, line := range strings.Fields(requires) {
		if strings.HasPrefix(line, "v") && line != "v0.0.0" {
			require.Contains(t, files.kernel["go.sum"], " "+line)
		}
	}
	_, err = goVersion("module x\n")
	require.Error(t, err)
}

func TestComplaint(t *testing.T) {
	text := "go: downloading x v1\n# example.org/p\np/a.go:3:1: undefined: b\np/a.go:4:1: undefined: c\n"
	require.Equal(t, "p/a.go:3:1: undefined: b", complaint(text, nil))
	require.Equal(t, "EOF", complaint("\n", errEOF{}))
}

type errEOF struct{}

func (errEOF) Error() string { return "EOF" }
