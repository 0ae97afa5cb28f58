package main

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/pretrained"
)

// TestCompletesGo: the embedded model continues Go code as Go.
func TestCompletesGo(t *testing.T) {
	m, err := pretrained.OpenFS(files, "model.safetensors")
	require.NoError(t, err)
	defer m.Close()
	for code, want := range map[string]string{
		"if err != ":                               "nil {",
		"func main() {\n\tif len(":                 "s) == 0 {",
		"\tfor i := 0; i < ":                       "len(s); i++ {",
		"package main\n\n\tif err := f(); err != ": "nil {",
	} {
		got, err := complete(context.Background(), m, code, generate.Request{})
		require.NoError(t, err)
		assert.Equal(t, want, got, code)
	}
}

// TestCodeLongerThanTheWindow: of long code, the model reads the end.
func TestCodeLongerThanTheWindow(t *testing.T) {
	m, err := pretrained.OpenFS(files, "model.safetensors")
	require.NoError(t, err)
	defer m.Close()
	got, err := complete(context.Background(), m, strings.Repeat("\tx := f()\n", 100)+"\tif err != ", generate.Request{})
	require.NoError(t, err)
	assert.Equal(t, "nil {", got)
}

// TestProgramHoldsItsModel: the program runs where there is no other file.
func TestProgramHoldsItsModel(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	program := t.TempDir() + "/embedded.exe"
	built, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, string(built))
	call := exec.Command(program, "-lines", "2", "if err != ")
	call.Dir = t.TempDir()
	got, err := call.Output()
	require.NoError(t, err)
	assert.Regexp(t, `^if err != nil \{\n\t.*\n$`, string(got))
}
