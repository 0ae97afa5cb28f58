package eval_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/eval/tasks"
	"github.com/residua-go/residua/layers"
)

func loadTask(t *testing.T, format string, o tasks.Options) []tasks.Document {
	o.Format = format
	task, err := tasks.Load(context.Background(), filepath.Join("tasks", "testdata", format+".jsonl"), o)
	require.NoError(t, err)
	return task.Documents()
}

// TestTaskFormatsAsk: the texts are exactly those that lm-eval 0.4.13 sends.
func TestTaskFormatsAsk(t *testing.T) {
	for format, want := range map[string]struct {
		pairs [][][2]string // a context and a continuation each
		gold  []int
	}{
		"hellaswag": {[][][2]string{
			{
				{"Baking bread: A man kneads dough on a table. Then he", " puts it into an oven."},
				{"Baking bread: A man kneads dough on a table. Then he", "  reads the newspaper. It is old."},
				{"Baking bread: A man kneads dough on a table. Then he", " rides a horse."},
				{"Baking bread: A man kneads dough on a table. Then he", " paints the dough blue."},
			},
			{
				{"Home and Garden: How to water a plant. Find water. A tap has some.", " Pour it slowly."},
				{"Home and Garden: How to water a plant. Find water. A tap has some.", " Sell it."},
			},
			{
				{"Fishing: Two women sit in a boat. The older woman", " flies away."},
				{"Fishing: Two women sit in a boat. The older woman", " holds a rod."},
				{"Fishing: Two women sit in a boat. The older woman", " sings to a wall."},
			},
		}, []int{0, 0, 1}},
		"arc": {[][][2]string{
			{
				{"Question: Which of these is a liquid at room temperature?\nAnswer:", " iron"},
				{"Question: Which of these is a liquid at room temperature?\nAnswer:", " water"},
				{"Question: Which of these is a liquid at room temperature?\nAnswer:", " oxygen"},
				{"Question: Which of these is a liquid at room temperature?\nAnswer:", " salt"},
			},
			{
				{"Question: What does a plant need to make sugar?\nAnswer:", " light"},
				{"Question: What does a plant need to make sugar?\nAnswer:", " noise"},
				{"Question: What does a plant need to make sugar?\nAnswer:", " a road"},
			},
			{{"Question: Which animal lays eggs?\nAnswer:", " a dog"}, {"Question: Which animal lays eggs?\nAnswer:", " a hen"}},
		}, []int{1, 0, 1}},
		"piqa": {[][][2]string{
			{{"Question: To open a jar\nAnswer:", " turn the lid."}, {"Question: To open a jar\nAnswer:", " look at the lid."}},
			{{"Question: To dry wet shoes\nAnswer:", " put them into a bucket of water."}, {"Question: To dry wet shoes\nAnswer:", " fill them with newspaper."}},
		}, []int{0, 1}},
		"winogrande": {[][][2]string{
			{{"The ball did not fit into the box because the ball", " was too small."}, {"The ball did not fit into the box because the box", " was too small."}},
			{{"Anna thanked Maria because Anna", " had helped her."}, {"Anna thanked Maria because Maria", " had helped her."}},
		}, []int{1, 1}},
		"openbookqa": {[][][2]string{
			{{"A stone falls because of", " wind"}, {"A stone falls because of", " gravity"}, {"A stone falls because of", " music"}, {"A stone falls because of", " light"}},
			{{"Ice that gets warm", " melts"}, {"Ice that gets warm", " burns"}},
		}, []int{1, 0}},
		"lambada": {[][][2]string{
			{{"She had lost the key, looked everywhere and in the end found the", " key"}},
			{{"The dog barked at the cat, and the cat ran away from the", " dog"}},
			{{"One, two, three, one, two,", " three"}},
		}, []int{0, 0, 0}},
		"multiple_choice": {[][][2]string{
			{{"The sky is", " blue"}, {"The sky is", " made of stone"}},
			{{"One and one are", " seven"}, {"One and one are", " two"}, {"One and one are", " a house"}},
		}, []int{0, 1}},
	} {
		documents := loadTask(t, format, tasks.Options{})
		require.Len(t, documents, len(want.pairs), format)
		for i, d := range documents {
			var pairs [][2]string
			for _, p := range d.Pairs {
				pairs = append(pairs, [2]string{p.Context, p.Continuation})
			}
			assert.Equal(t, want.pairs[i], pairs, "%s %d", format, i)
			assert.Equal(t, want.gold[i], d.Gold, "%s %d", format, i)
			assert.Equal(t, i+1, d.Line, format)
		}
	}
	pages := loadTask(t, "rolling", tasks.Options{})
	assert.Equal(t, " The second one\tbegins with a space,\n\nand ends with a line break.\n", pages[1].Page)
	assert.Empty(t, pages[1].Pairs)
}

// TestSolvedDocuments shows how each format writes a solved example; lm-eval puts two spaces before
// LAMBADA's last word, too.
func TestSolvedDocuments(t *testing.T) {
	for format, want := range map[string]string{
		"hellaswag":       "Baking bread: A man kneads dough on a table. Then he puts it into an oven.",
		"arc":             "Question: Which of these is a liquid at room temperature?\nAnswer: water",
		"piqa":            "Question: To open a jar\nAnswer: turn the lid.",
		"winogrande":      "The ball did not fit into the box because the box was too small.",
		"openbookqa":      "A stone falls because of gravity",
		"lambada":         "She had lost the key, looked everywhere and in the end found the  key",
		"multiple_choice": "The sky is blue",
	} {
		assert.Equal(t, want, loadTask(t, format, tasks.Options{})[0].Solved, format)
	}
}

// TestTaskShots: solved documents precede each document, each followed by an empty line. The
// document itself is never among them, and the same seed gives the same ones.
func TestTaskShots(t *testing.T) {
	plain := loadTask(t, "arc", tasks.Options{})
	asked := loadTask(t, "arc", tasks.Options{Shots: 2, Seed: 5})
	for i, d := range asked {
		a, b := plain[(i+1)%3].Solved, plain[(i+2)%3].Solved
		assert.Contains(t, []string{a + "\n\n" + b + "\n\n" + plain[i].Pairs[0].Context, b + "\n\n" + a + "\n\n" + plain[i].Pairs[0].Context}, d.Pairs[0].Context)
		assert.Equal(t, plain[i].Pairs[0].Continuation, d.Pairs[0].Continuation)
	}
	assert.Equal(t, asked, loadTask(t, "arc", tasks.Options{Shots: 2, Seed: 5}))
	different := false
	for seed := range uint64(8) {
		different = different || assert.ObjectsAreEqual(asked, loadTask(t, "arc", tasks.Options{Shots: 2, Seed: seed})) == false
	}
	assert.True(t, different, "the seed chooses")
	assert.Equal(t, asked[:2], loadTask(t, "arc", tasks.Options{Shots: 2, Seed: 5, Limit: 2}), "examples come from all of the file")

	from := filepath.Join(t.TempDir(), "train.jsonl")
	require.NoError(t, os.WriteFile(from, []byte(`{"question": "Why?", "choices": {"text": ["so"], "label": ["A"]}, "answerKey": "A"}`), 0o644))
	for i, d := range loadTask(t, "arc", tasks.Options{Shots: 1, ShotsFrom: from}) {
		assert.Equal(t, "Question: Why?\nAnswer: so\n\n"+plain[i].Pairs[0].Context, d.Pairs[0].Context)
	}
}

// TestTaskFilesThatAreRefused: the error is one line that begins with file:line.
func TestTaskFilesThatAreRefused(t *testing.T) {
	for _, c := range []struct{ format, line, want string }{
		{"multiple_choice", `{"query": "q", "choices": ["a"], "gold": 1}`, `field "gold": want a whole number of 0 to 0, got 1`},
		{"multiple_choice", `{"query": "q", "choices": ["a"], "gold": -1}`, `field "gold": want a whole number of 0 to 0, got -1`},
		{"multiple_choice", `{"query": "q", "choices": ["a"], "gold": 0.5}`, `field "gold": want a whole number of 0 to 0, got 0.5`},
		{"multiple_choice", `{"query": "q", "choices": ["a"], "gold": null}`, `field "gold": want a whole number of 0 to 0, got null`},
		{"multiple_choice", `{"query": "q", "choices": ["a"], "gold": [0]}`, `field "gold": want a whole number of 0 to 0, got [0]`},
		{"multiple_choice", `{"query": "q", "choices": [], "gold": 0}`, `field "choices": want at least one choice, got none`},
		{"multiple_choice", `{"query": "q", "choices": ["a", ""], "gold": 0}`, `field "choices": entry 1: want text, got an empty string`},
		{"multiple_choice", `{"query": "q", "choices": ["a", null], "gold": 0}`, `field "choices": entry 1: want a string, got null`},
		{"multiple_choice", `{"query": "q", "choices": "a", "gold": 0}`, `field "choices": want a list of strings, got "a"`},
		{"multiple_choice", `{"query": 7, "choices": ["a"], "gold": 0}`, `field "query": want a string, got 7`},
		{"multiple_choice", `{"choices": ["a"], "gold": 0}`, `want a field "query", a string, got an object with the fields [choices, gold]: is the format right?`},
		{"multiple_choice", `{"query": `, `want one JSON object a line: unexpected end of JSON input`},
		{"multiple_choice", `null`, `want one JSON object a line`},
		{"multiple_choice", `["q"]`, `want one JSON object a line: json: cannot unmarshal array`},
		{"multiple_choice", "{\"query\": \"\xff\", \"choices\": [\"a\"], \"gold\": 0}", `want text in UTF-8, got bytes that are not`},
		{"last_word", `{"text": ""}`, `field "text": want text, got an empty string`},
		{"hellaswag", `{"activity_label": "a", "ctx_a": "b", "ctx_b": "c", "endings": ["d", "[e]"], "label": "0"}`, `field "endings": entry 1: want text other than [marks], got "[e]"`},
		{"hellaswag", `{"activity_label": "a", "ctx_a": "b", "ctx_b": "c", "endings": ["d", "e"], "label": ""}`, `field "label": want a whole number of 0 to 1, got ""`},
		{"arc", `{"question": "q", "choices": {"text": ["a"], "label": ["A"]}, "answerKey": "E"}`, `field "answerKey": want one of ["A"], got "E"`},
		{"arc", `{"question": "q", "choices": {"text": ["a", "b"], "label": ["A"]}, "answerKey": "A"}`, `field "choices": field "label": want 2, one a text, got 1`},
		{"arc", `{"question": "q", "choices": ["a"], "answerKey": "A"}`, `field "choices": want an object, got ["a"]`},
		{"piqa", `{"goal": "g", "sol1": "a", "sol2": "b", "label": 2}`, `field "label": want a whole number of 0 to 1, got 2`},
		{"winogrande", `{"sentence": "no blank", "option1": "a", "option2": "b", "answer": "1"}`, `field "sentence": want a "_" where the option goes, got "no blank"`},
		{"winogrande", `{"sentence": "a _", "option1": "a", "option2": "b", "answer": "3"}`, `field "answer": want a whole number of 1 to 2, got "3"`},
	} {
		good, err := os.ReadFile(filepath.Join("tasks", "testdata", c.format+".jsonl"))
		if c.format == "last_word" {
			good, err = []byte(`{"text": "a b"}`+"\n"), nil
		}
		require.NoError(t, err)
		path := filepath.Join(t.TempDir(), "task.jsonl")
		require.NoError(t, os.WriteFile(path, append(good[:strings.IndexByte(string(good), '\n')+1:strings.IndexByte(string(good), '\n')+1], "\n"+c.line+"\n"...), 0o644))
		_, err = tasks.Load(context.Background(), path, tasks.Options{Format: c.format})
		require.ErrorContains(t, err, path+":3: "+c.want)
		assert.NotContains(t, err.Error(), "\n")
	}
	empty := filepath.Join(t.TempDir(), "empty.jsonl")
	require.NoError(t, os.WriteFile(empty, []byte("\n\n"), 0o644))
	_, err := tasks.Load(context.Background(), empty, tasks.Options{})
	assert.EqualError(t, err, empty+": want at least one document, a JSON object a line, got none")
	_, err = tasks.Load(context.Background(), "nowhere.jsonl", tasks.Options{})
	assert.ErrorContains(t, err, "nowhere.jsonl")
}

func TestTaskOptionsThatAreRefused(t *testing.T) {
	for key, o := range map[string]tasks.Options{
		"format":     {Format: "helaswag"},
		"shots":      {Shots: 2},
		"shots-from": {ShotsFrom: "x"},
		"limit":      {Limit: -1},
		"bootstrap":  {Resamples: -1},
	} {
		_, err := tasks.Load(context.Background(), filepath.Join("tasks", "testdata", "multiple_choice.jsonl"), o)
		var bad *layers.SettingError
		require.ErrorAs(t, err, &bad, key)
		assert.Equal(t, key, bad.Key)
	}
	_, err := tasks.Load(context.Background(), filepath.Join("tasks", "testdata", "rolling.jsonl"), tasks.Options{Format: "rolling", Shots: 1})
	assert.ErrorContains(t, err, "want 0 for rolling, which scores whole pages, got 1")
	_, err = tasks.Load(context.Background(), filepath.Join("tasks", "testdata", "multiple_choice.jsonl"), tasks.Options{Format: "helaswag"})
	assert.ErrorContains(t, err, "did you mean hellaswag?")
}
