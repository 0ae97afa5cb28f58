package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/longtest"
)

// module has a command, and a package with tests of both kinds, one of them under a build tag, and
// a TestMain.
var module = map[string]string{
	"go.mod":             "module example.org/m\n\ngo 1.26\n",
	"say/main.go":        "// Command say says.\npackage main\n\nimport \"os\"\n\nfunc main() { print(os.Args[1]) }\n",
	"sum/sum.go":         "package sum\n\nfunc add(a, b int) int { return a + b }\n",
	"sum/export_test.go": "package sum\n\nimport \"testing\"\n\nvar Add = add\n\nfunc TestInside(t *testing.T) {\n\tif add(1, 2) != 3 {\n\t\tt.Fail()\n\t}\n}\n\nfunc Testify() {}\n",
	"sum/outside_test.go": `package sum_test

import (
	"testing"

	"example.org/m/sum"
)

func TestOutside(t *testing.T) {
	if sum.Add(1, 2) != 4 {
		t.Error("want 4")
	}
}

func TestMain(m *testing.M) { print("begun\n"); m.Run() }
`,
	"sum/tagged_test.go": "//go:build odd\n\npackage sum_test\n\nimport \"testing\"\n\nfunc TestTagged(t *testing.T) {}\n",
	"sum/other_test.go":  "//go:build !odd\n\npackage sum_test\n\nimport \"testing\"\n\nfunc TestOther(t *testing.T) {}\n",
}

// TestCombine: depending on its name, the program acts as the command or runs a package's tests,
// with the tests of the build tags, through TestMain.
func TestCombine(t *testing.T) {
	longtest.Skip(t) // links a program
	if runtime.GOOS == "windows" {
		t.Skip("links of other names")
	}
	dir := t.TempDir()
	for name, text := range module {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	t.Chdir(dir)
	var names bytes.Buffer
	require.NoError(t, run([]string{"-tags", "odd", "-o", "bin/all", "./say", "./sum"}, &names))
	assert.Equal(t, "say\nsum.test\n", names.String())
	as := func(name string, args ...string) (string, error) {
		_ = os.Link("bin/all", "bin/"+name)
		out, err := exec.Command("bin/"+name, args...).CombinedOutput()
		return string(out), err
	}
	out, err := as("say", "hello")
	require.NoError(t, err)
	assert.Equal(t, "hello", out)
	out, err = as("sum.test", "-test.v", "-test.skip=Outside")
	require.NoError(t, err, out)
	assert.Contains(t, out, "begun\n=== RUN   TestInside\n--- PASS: TestInside")
	assert.Contains(t, out, "--- PASS: TestTagged")
	assert.NotContains(t, out, "TestOther")
	out, err = as("sum.test")
	require.Error(t, err)
	assert.Contains(t, out, "--- FAIL: TestOutside")
	out, err = as("another")
	require.Error(t, err)
	assert.Contains(t, out, "another: want a link of the name of one of the programs in it")
	require.ErrorContains(t, run([]string{"./say"}, &names), "want combine")
}
