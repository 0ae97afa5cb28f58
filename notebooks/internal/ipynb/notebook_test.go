package ipynb

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// asJupyterWrites is a notebook as Jupyter writes it after a run, with sorted keys and texts as
// lists of lines.
const asJupyterWrites = `{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "one",
   "metadata": {},
   "source": [
    "# A < B\n",
    "text"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 7,
   "id": "two",
   "metadata": {
    "collapsed": true,
    "residua": {
     "tolerance": 0.01
    }
   },
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": [
      "a\n"
     ]
    },
    {
     "name": "stdout",
     "output_type": "stream",
     "text": [
      "b\n"
     ]
    },
    {
     "data": {
      "image/png": "iVBORw0KGgo=\n",
      "text/html": [
       "<p>\n",
       "</p>"
      ],
      "text/plain": [
       "plain"
      ]
     },
     "execution_count": 7,
     "metadata": {
      "image/png": {
       "width": 640
      }
     },
     "output_type": "execute_result"
    }
   ],
   "source": [
    "show()"
   ]
  }
 ],
 "metadata": {
  "kernelspec": {
   "display_name": "Go (Residua)",
   "language": "go",
   "name": "residua"
  },
  "language_info": {
   "codemirror_mode": "",
   "file_extension": ".go",
   "name": "go",
   "version": "go1.26.8"
  }
 },
 "nbformat": 4,
 "nbformat_minor": 5
}
`

func read(t *testing.T, text string) *Notebook {
	t.Helper()
	file := filepath.Join(t.TempDir(), "n.ipynb")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	n, err := Read(file)
	require.NoError(t, err)
	return n
}

func TestWritesWhatItReads(t *testing.T) {
	n := read(t, asJupyterWrites)
	require.Equal(t, Text("# A < B\ntext"), n.Cells[0].Source)
	require.EqualValues(t, "<p>\n</p>", n.Cells[1].Outputs[2].Data["text/html"])
	text, err := n.Bytes()
	require.NoError(t, err)
	require.Equal(t, asJupyterWrites, string(text))
}

func TestNormaliseLeavesWhatMeansSomething(t *testing.T) {
	n := read(t, asJupyterWrites)
	n.Normalise()
	require.Equal(t, map[string]any{"file_extension": ".go", "name": "go"}, n.Metadata["language_info"])
	c := n.Cells[1]
	require.Equal(t, map[string]any{"residua": map[string]any{"tolerance": 0.01}}, c.Metadata)
	require.Equal(t, json.RawMessage("1"), c.ExecutionCount)
	outputs := c.Outputs
	require.Len(t, outputs, 2)
	require.Equal(t, Text("a\nb\n"), outputs[0].Text)
	require.EqualValues(t, "iVBORw0KGgo=", outputs[1].Data["image/png"])
	require.Equal(t, json.RawMessage("1"), outputs[1].ExecutionCount)
	require.Equal(t, map[string]any{"image/png": map[string]any{"width": 640.0}}, outputs[1].Metadata)
	require.Nil(t, n.Cells[0].Outputs)

	once, err := n.Bytes()
	require.NoError(t, err)
	n.Normalise()
	twice, err := n.Bytes()
	require.NoError(t, err)
	require.Equal(t, string(once), string(twice))
}

func TestReadsTextInEitherForm(t *testing.T) {
	n := read(t, `{"cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": null, "source": "a\nb"}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}`)
	require.Equal(t, Text("a\nb"), n.Cells[0].Source)
	text, err := n.Bytes()
	require.NoError(t, err)
	require.Contains(t, string(text), "\"a\\n\",\n    \"b\"")
	require.Contains(t, string(text), `"execution_count": null`)
	require.Contains(t, string(text), `"outputs": []`)
}

func TestReadRefuses(t *testing.T) {
	for _, text := range []string{"", "{", `{"nbformat": 3}`, `{"nbformat": 4, "cells": [{"source": 3}]}`} {
		file := filepath.Join(t.TempDir(), "n.ipynb")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		_, err := Read(file)
		require.Error(t, err, text)
		require.NotContains(t, err.Error(), "\n")
	}
	_, err := Read(filepath.Join(t.TempDir(), "none.ipynb"))
	require.Error(t, err)
}
