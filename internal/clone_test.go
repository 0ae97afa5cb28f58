package internal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/clone"
)

// TestAround: Residua's source is found in a folder above, and by what a module's go.mod replaces
// it with, in every form that Go reads; a replacement by another module or by no folder is none.
func TestAround(t *testing.T) {
	root := t.TempDir()
	write := func(dir, text string) string {
		dir = filepath.Join(root, dir)
		require.NoError(t, os.MkdirAll(dir, 0o777))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o666))
		return dir
	}
	source := write("the source", "module "+clone.Module+"\n")
	assert.Equal(t, source, clone.Around(source))
	windows := write("a checkout of Windows", "module "+clone.Module+"\r\n\r\ngo 1.26\r\n")
	assert.Equal(t, windows, clone.Around(windows))
	fork := write("a fork", "module "+clone.Module+"/v2\n")
	assert.Empty(t, clone.Around(fork))
	require.NoError(t, os.Mkdir(filepath.Join(source, "zoo"), 0o777))
	assert.Equal(t, source, clone.Around(filepath.Join(source, "zoo")))
	for i, row := range []struct {
		text  string
		finds bool
	}{
		{`replace ` + clone.Module + ` => "../the source"`, true},
		{"replace " + clone.Module + " v0.0.0 => \"" + source + "\" // a clone", true},
		{"replace (\n\texample.com/a => ../a\n\t" + clone.Module + "  =>  \"../the source\"\n)", true},
		{"require " + clone.Module + " v1.2.3", false},
		{"replace " + clone.Module + " => example.com/fork v1.0.0", false},
		{"replace " + clone.Module + "/more => \"../the source\"", false},
		{"// replace " + clone.Module + " => \"../the source\"", false},
		{"replace " + clone.Module + " => ../elsewhere", false},
	} {
		dir := write(fmt.Sprint(i), "module decay\n\n"+row.text+"\n")
		want := ""
		if row.finds {
			want = source
		}
		assert.Equal(t, want, clone.Around(dir), row.text)
	}
}
