package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const mit = `MIT License

Copyright (c) 2024 A. Author

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files
(the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge,
publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so,
subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE
FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION
WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
`

// works writes files into a new folder and returns the licences that are found from its deepest
// packages upwards.
func works(t *testing.T, files map[string]string) map[string][]string {
	t.Helper()
	top := t.TempDir()
	found := map[string][]string{}
	for name, text := range files {
		path := filepath.Join(top, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		module, _, _ := strings.Cut(name, "/")
		require.NoError(t, look(found, module, filepath.Join(top, module), filepath.Dir(path)))
	}
	return found
}

func TestATextStandsOnceForAllItsWorks(t *testing.T) {
	var out, short strings.Builder
	found := works(t, map[string]string{
		"a/LICENSE":                      mit,
		"a/deep/inside/LICENSE.txt":      "a text that nobody knows",
		"a/other/license.go":             "package other",
		"b/LICENCE":                      strings.ReplaceAll(mit, "\n", "\n\n"),
		"c/THIRD_PARTY_LICENSES/Cephes":  strings.ReplaceAll(mit, "A. Author", "B. Author"),
		"c/licenses/gpl.txt":             "the choice that is not made",
		"c/deep/vendored/copying-not.md": "no licence",
	})
	require.NoError(t, write(&out, found, true))
	list, texts, numbered := strings.Cut(strings.TrimPrefix(out.String(), head), "\n[1] ===")
	require.True(t, numbered)
	require.Equal(t, "\na: MIT [1] [2]\nb: MIT [1]\nc: MIT [3]\n", list)
	require.Equal(t, 1, strings.Count(texts, "A. Author"))
	require.Equal(t, 1, strings.Count(texts, "B. Author"))
	require.Contains(t, texts, "\n[2] "+strings.Repeat("=", 74)+"\n\na text that nobody knows\n")

	require.NoError(t, write(&short, found, false))
	require.Equal(t, head+"\na: MIT\nb: MIT\nc: MIT\n", short.String())
}

func TestAWorkWithoutALicenceIsAnError(t *testing.T) {
	err := write(&strings.Builder{}, works(t, map[string]string{"a/LICENSE": mit, "b v1/code.go": "package b"}), true)
	require.ErrorContains(t, err, "b v1: want a file LICENSE")
}

// NOTICE is short enough to be read: the licences' texts are in the archives of a release.
func TestNoticeIsShort(t *testing.T) {
	text, err := os.ReadFile("../../NOTICE")
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(text), head), "NOTICE does not begin with internal/notice/head.txt: run make notice")
	require.LessOrEqual(t, strings.Count(string(text), "\n"), 150)
}

// The head names the authors of the files that our own packages embed.
func TestHeadNamesEachPackageThatEmbeds(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "-tags=cuda", "-json=Dir,Module,EmbedFiles", "./cmd/...")
	list.Dir = "../.."
	out, err := list.Output()
	require.NoError(t, err)
	top, err := filepath.Abs(list.Dir)
	require.NoError(t, err)
	embeds := 0
	for decoder := json.NewDecoder(strings.NewReader(string(out))); decoder.More(); {
		var p struct {
			Dir        string
			EmbedFiles []string
			Module     struct{ Main bool }
		}
		require.NoError(t, decoder.Decode(&p))
		if !p.Module.Main || len(p.EmbedFiles) == 0 {
			continue
		}
		embeds++
		folder, err := filepath.Rel(top, p.Dir)
		require.NoError(t, err)
		require.Contains(t, head, "\n"+folder+": ", "internal/notice/head.txt: say whose the files are that %s embeds", folder)
	}
	require.Positive(t, embeds)
}
