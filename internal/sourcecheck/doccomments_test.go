package sourcecheck

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// documented lists the packages that other programs call.
var documented = []string{"graph", "graph/ops/attention", "graph/ops/elementwise", "graph/ops/embedding", "graph/ops/linear", "graph/ops/loss", "graph/ops/mix", "graph/ops/moe", "graph/ops/norm", "graph/ops/readwrite", "graph/ops/shape", "layers", "stream", "models", "checkpoint", "trainer", "generate", "eval", "eval/tasks", "data", "optim", "trainer/learner", "trainer/distributed"}

// TestExportedFunctionsAreDocumented: every exported function and method has a doc comment
// that begins with its name and says something of its own.
func TestExportedFunctionsAreDocumented(t *testing.T) {
	atRoot(t)
	for _, p := range documented {
		t.Run(p, func(t *testing.T) {
			n := 0
			for _, f := range parseFolder(t, filepath.FromSlash(p)) {
				for _, d := range f.Decls {
					if function, ok := d.(*ast.FuncDecl); ok && exported(function) {
						n++
						if problem := wrong(function.Name.Name, function.Doc.Text()); problem != "" {
							t.Errorf("%s: %s", function.Name.Name, problem)
						}
					}
				}
			}
			require.Positive(t, n)
		})
	}
}

// parseFolder reads a package's files except tests.
func parseFolder(t *testing.T, dir string) []*ast.File {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, f)
	}
	return files
}

// exported tells whether godoc shows a function, or a method of a type that it shows.
func exported(f *ast.FuncDecl) bool {
	if !f.Name.IsExported() {
		return false
	}
	if f.Recv == nil {
		return true
	}
	receiver := f.Recv.List[0].Type
	for {
		switch r := receiver.(type) {
		case *ast.StarExpr:
			receiver = r.X
		case *ast.IndexExpr:
			receiver = r.X
		case *ast.Ident:
			return r.IsExported()
		default:
			return false
		}
	}
}

// reference matches another function's name, such as "Builder.Norm" or "[data.Load]"; pointing
// matches the words around it that add nothing.
var (
	reference = regexp.MustCompile(`\[?\b[A-Za-z]+\.[A-Z]\w*\]?`)
	pointing  = regexp.MustCompile(`(?i)\b(is|are|does|do|what|that|like|as|see|calls?|same|the|of|a|an|for|in|with)\b`)
	word      = regexp.MustCompile(`\pL{2,}`)
)

// ownWords is how many words a doc comment with a reference must have besides it.
const ownWords = 2

// wrong says what is wrong with a function's doc comment, "" if nothing is.
func wrong(name, doc string) string {
	if doc == "" {
		return "want a doc comment, got none"
	}
	rest, ok := strings.CutPrefix(doc, name+" ")
	if !ok {
		return "want a doc comment that begins with the name, got " + doc
	}
	if !reference.MatchString(rest) {
		return ""
	}
	rest = pointing.ReplaceAllString(reference.ReplaceAllString(rest, ""), "")
	if len(word.FindAllString(rest, ownWords)) < ownWords {
		return "want a doc comment that says more than a reference, got " + doc
	}
	return ""
}

// TestWrong: the rule distinguishes a bare reference from a comment.
func TestWrong(t *testing.T) {
	for _, doc := range []string{"", "Other sums.", "Norm is Builder.Norm.\n", "Norm does what [Builder.Norm] does.", "Norm: see graph.Norm.", "Norm is the same as Builder.Norm."} {
		require.NotEmpty(t, wrong("Norm", doc), doc)
	}
	for _, doc := range []string{"Norm normalises each row.", "Norm does nothing.\n", "Norm is Builder.Norm without the mean."} {
		require.Empty(t, wrong("Norm", doc), doc)
	}
}
