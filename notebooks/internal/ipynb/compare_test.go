package ipynb

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"testing"

	"github.com/stretchr/testify/require"
)

// picture returns a PNG in base64, with one colour or two.
func picture(t *testing.T, colours int) Text {
	t.Helper()
	p := image.NewGray(image.Rect(0, 0, 4, 4))
	if colours > 1 {
		p.Set(3, 3, color.White)
	}
	var raw bytes.Buffer
	require.NoError(t, png.Encode(&raw, p))
	return Text(base64.StdEncoding.EncodeToString(raw.Bytes()))
}

const svg = `<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0L1 1"/></svg>`

// code returns a code cell that has been run.
func code(outputs ...Output) Cell {
	return Cell{Type: CellCode, Source: "run()", ExecutionCount: json.RawMessage("1"), Metadata: map[string]any{}, Outputs: outputs}
}

func printed(text string) Output { return Output{Type: OutputStream, Name: "stdout", Text: Text(text)} }

func displayed(data Bundle) Output { return Output{Type: OutputResult, Data: data} }

func notebook(cells ...Cell) *Notebook {
	return &Notebook{Cells: cells, Metadata: map[string]any{}, Format: 4, FormatMinor: 5}
}

// problems compares two outputs of a cell with metadata.
func problems(t *testing.T, metadata map[string]any, committed, fresh Cell) []string {
	t.Helper()
	committed.Metadata = metadata
	got, err := Compare(notebook(Cell{Type: CellMarkdown}, committed), notebook(Cell{Type: CellMarkdown}, fresh))
	require.NoError(t, err)
	return got
}

func saying(keys map[string]any) map[string]any { return map[string]any{settingsKey: keys} }

func TestNumbersWithinTheTolerancePass(t *testing.T) {
	loose := saying(map[string]any{"tolerance": 0.1})
	around0 := saying(map[string]any{"absolute": 0.02})
	for _, c := range []struct {
		name             string
		metadata         map[string]any
		committed, fresh string
		passes           bool
	}{
		{"equal", nil, "loss 2.345", "loss 2.345", true},
		{"default", nil, "loss 2.345", "loss 2.346", true},
		{"drifted", nil, "loss 2.345", "loss 2.355", false},
		{"sign", nil, "loss 2.345", "loss -2.345", false},
		{"loose", loose, "loss 2.345", "loss 2.5", true},
		{"too far for loose", loose, "loss 2.345", "loss 2.7", false},
		{"second of two", loose, "1.0 and 2.0", "1.0 and 2.5", false},
		{"exponents", nil, "1.000e-5", "0.00001", true},
		{"drifted exponent", nil, "1e-5", "1e-4", false},
		{"around 0", around0, "error 0.016", "error 0.023", true},
		{"too far from 0", around0, "error 0.016", "error 0.056", false},
		{"tiny", nil, "1e-17", "-3e-16", true},
		{"integers", loose, "step 100", "step 101", false},
		{"integer and not", nil, "3", "3.001", true},
		{"NaN", loose, "loss 2.0", "loss NaN", false},
		{"inf", loose, "loss +Inf", "loss -Inf", false},
		{"widths", nil, "a      9.999\n-----------", "a     10.001\n------------", true},
		{"words", loose, "loss 2.3 of it", "gain 2.3 of it", false},
		{"words at the end", loose, "loss 2.3 nats", "loss 2.3 bits", false},
		{"lines", loose, "1.5\n2.5", "1.5 2.5", false},
		{"fewer numbers", loose, "1.5 2.5", "1.5", false},
		{"more numbers", loose, "1.5", "1.5 2.5", false},
		{"nothing", loose, "1.5", "", false},
		{"something", loose, "", "1.5", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := problems(t, c.metadata, code(printed(c.committed)), code(printed(c.fresh)))
			require.Equal(t, c.passes, len(got) == 0, "%v", got)
			for _, problem := range got {
				require.Contains(t, problem, "cell 2: stdout: ")
				require.NotContains(t, problem, "\n")
			}
			asResult := problems(t, c.metadata, code(displayed(Bundle{"text/plain": Text(c.committed)})), code(displayed(Bundle{"text/plain": Text(c.fresh)})))
			require.Equal(t, c.passes, len(asResult) == 0, "%v", asResult)
		})
	}
}

func TestNotebookSettingsAreOverriddenByCells(t *testing.T) {
	committed := notebook(code(printed("1.00")), code(printed("1.00")))
	committed.Metadata = saying(map[string]any{"tolerance": 0.1})
	committed.Cells[1].Metadata = saying(map[string]any{"tolerance": 0.01})
	got, err := Compare(committed, notebook(code(printed("1.05")), code(printed("1.05"))))
	require.NoError(t, err)
	require.Equal(t, []string{`cell 2: stdout: want 1.00 (tolerance 0.01, absolute 1e-09), got 1.05 in "1.05"`}, got)
}

func TestVolatileText(t *testing.T) {
	times := saying(map[string]any{"volatile": []any{`took .*s\b`}})
	require.Empty(t, problems(t, times, code(printed("took 3.1 s, loss 2.0")), code(printed("took 1m17s, loss 2.0"))))
	require.NotEmpty(t, problems(t, times, code(printed("took 3.1 s, loss 2.0")), code(printed("took 3.1 s, loss 3.0"))))
	require.NotEmpty(t, problems(t, times, code(printed("took 3.1 s")), code(printed(""))))

	all := saying(map[string]any{"volatile": true})
	require.Empty(t, problems(t, all, code(printed("some text")), code(printed("quite another"))))
	require.NotEmpty(t, problems(t, all, code(printed("some text")), code(printed(" "))))
	require.NotEmpty(t, problems(t, all, code(displayed(Bundle{"text/plain": "a"})), code()))

	committed := notebook(code(printed("took 3.1 s, loss 2.0")))
	committed.Metadata, committed.Cells[0].Metadata = all, times
	got, err := Compare(committed, notebook(code(printed("took 1m17s, loss 3.0"))))
	require.NoError(t, err)
	require.Len(t, got, 1, "a cell's patterns take the place of the notebook's true")
}

func TestSettingsThatNobodyCouldMean(t *testing.T) {
	for _, keys := range []any{
		map[string]any{"tolerence": 0.1}, map[string]any{"tolerance": -1}, map[string]any{"tolerance": "1"},
		map[string]any{"volatile": "x"}, map[string]any{"volatile": []any{"("}}, 3,
	} {
		committed := notebook(code())
		committed.Cells[0].Metadata = map[string]any{settingsKey: keys}
		_, err := Compare(committed, notebook(code()))
		require.Error(t, err, "%v", keys)
		require.NotContains(t, err.Error(), "\n")
	}
}

func TestPicturesMustBeThere(t *testing.T) {
	good := Bundle{"image/png": picture(t, 2), "text/plain": "loss"}
	for name, c := range map[string]struct {
		fresh  []Output
		passes bool
	}{
		"another picture": {[]Output{displayed(Bundle{"image/png": picture(t, 2) + "\n", "text/plain": "loss"})}, true},
		"missing":         {nil, false},
		"text instead":    {[]Output{displayed(Bundle{"text/plain": "loss"})}, false},
		"blank":           {[]Output{displayed(Bundle{"image/png": picture(t, 1), "text/plain": "loss"})}, false},
		"broken":          {[]Output{displayed(Bundle{"image/png": "iVBOR", "text/plain": "loss"})}, false},
		"twice":           {[]Output{displayed(good), displayed(good)}, false},
		"more forms":      {[]Output{displayed(Bundle{"image/png": picture(t, 2), "text/plain": "loss", "text/html": "x"})}, false},
	} {
		got := problems(t, nil, code(displayed(good)), code(c.fresh...))
		require.Equal(t, c.passes, len(got) == 0, "%s: %v", name, got)
	}
	for drawing, passes := range map[string]bool{svg: true, `<svg><path>`: false, `<p/>`: false, "": false} {
		got := problems(t, nil, code(displayed(Bundle{"image/svg+xml": svg})), code(displayed(Bundle{"image/svg+xml": Text(drawing)})))
		require.Equal(t, passes, len(got) == 0, "%q: %v", drawing, got)
	}
	inline := func(text string) Cell { return code(displayed(Bundle{"text/html": Text(text)})) }
	require.Empty(t, problems(t, nil, inline("<p>"+svg+"</p>"), inline(`<p><svg width="3"></svg></p>`)))
	require.NotEmpty(t, problems(t, nil, inline("<p>"+svg+"</p>"), inline(`<p></p>`)))
}

func TestFailingCellFails(t *testing.T) {
	fails := code(printed("1.0"), Output{Type: OutputError, ErrorName: "ERROR", ErrorValue: "analysis: layer: want 0 to 5,\n got 9"})
	committed := notebook(code(), code(printed("1.0")), code(printed("2.0")))
	got, err := Compare(committed, notebook(code(), fails, code()))
	require.NoError(t, err)
	require.Equal(t, []string{"cell 2: fails: ERROR: analysis: layer: want 0 to 5, got 9"}, got, "what follows is not reported")

	volatile := notebook(code(), code(printed("1.0")), code(printed("2.0")))
	volatile.Metadata = saying(map[string]any{"volatile": true, "tolerance": 1e9})
	got, err = Compare(volatile, notebook(code(), fails, code()))
	require.NoError(t, err)
	require.Len(t, got, 1, "no setting lets it pass")
}

func TestOrderOfStreamsMeansNothing(t *testing.T) {
	stderr := func(text string) Output { return Output{Type: OutputStream, Name: "stderr", Text: Text(text)} }
	committed := code(printed("a\nb\n"), stderr("c\n"), displayed(Bundle{"text/plain": "d"}))
	require.Empty(t, problems(t, nil, committed, code(stderr("c\n"), printed("a\n"), displayed(Bundle{"text/plain": "d"}), printed("b\n"))))
	require.NotEmpty(t, problems(t, nil, committed, code(stderr("x\n"), printed("a\nb\n"), displayed(Bundle{"text/plain": "d"}))))
}

func TestCommittedWithoutHavingBeenRun(t *testing.T) {
	unrun := code(printed("a"))
	unrun.ExecutionCount = json.RawMessage("null")
	require.Equal(t, []string{"cell 2: is committed without having been run"}, problems(t, nil, unrun, code(printed("a"))))
	other := code(printed("a"))
	other.Source = "stop()"
	require.NotEmpty(t, problems(t, nil, code(printed("a")), other))
	got, err := Compare(notebook(code()), notebook())
	require.NoError(t, err)
	require.Len(t, got, 1)
}
