package data

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tasks lists the tasks at small sizes.
func tasks() []Task {
	g := Generated{Number: 400, Seed: 3}
	return []Task{MQAR{g, 16, 32, 4, 0.5}, Memorization{g, 5, 7, 6}, BottleneckCopy{g, 9, 5}}
}

func loadTask(t *testing.T, task Task, threads int) *Corpus {
	t.Helper()
	c, err := Load(context.Background(), Options{Source: task, Split: "hash/4", Threads: threads})
	require.NoError(t, err, task.Name())
	return c
}

// examplesOf returns the inputs and targets of a stream's examples, but the last, which has no
// token after it.
func examplesOf(t *testing.T, tokens Tokens) (inputs, targets [][]int32) {
	t.Helper()
	length := tokens.Examples().Length
	require.Zero(t, tokens.Len()%length)
	w, err := NewWindows(tokens, 1, length)
	require.NoError(t, err)
	for i := range w.Batches() {
		in, out := make([]int32, length), make([]int32, length)
		_, err := w.Batch(i, in, out)
		require.NoError(t, err)
		inputs, targets = append(inputs, in), append(targets, out)
	}
	return inputs, targets
}

// answers lists an example's answers.
func answers(targets []int32) (all []int32) {
	for _, id := range targets {
		if id != ignoredTarget {
			all = append(all, id)
		}
	}
	return all
}

// TestTasksAreHeldOut: examples depend on the settings alone, and no example is in both streams.
func TestTasksAreHeldOut(t *testing.T) {
	for _, task := range append(tasks(), BottleneckCopy{Generated{Number: 400}, 2, 3}) { // 8 different examples
		c := loadTask(t, task, 1)
		require.Equal(t, c.Fingerprint, loadTask(t, task, 3).Fingerprint)
		require.Equal(t, 400, c.Train.Documents+c.Val.Documents)
		seen := map[string]bool{}
		train, _ := examplesOf(t, c.Train.Tokens)
		for _, row := range train {
			seen[c.Tokenizer.Decode(row)] = true
		}
		val, _ := examplesOf(t, c.Val.Tokens)
		require.NotEmpty(t, val)
		for _, row := range val {
			if task.Name() != "memorization" { // its inputs do not show the answers
				require.False(t, seen[c.Tokenizer.Decode(row)], task.Name())
			}
		}
	}
}

// TestTooFewDifferentExamples: with two different examples, which may lie on one side of the split,
// the error does not advise the split that tasks refuse.
func TestTooFewDifferentExamples(t *testing.T) {
	c, err := Load(context.Background(), Options{Source: BottleneckCopy{Generated{Number: 100}, 2, 1}, Split: "hash/1000"})
	require.NoError(t, err)
	require.EqualError(t, c.CheckValidation(4), "data: validation split: want at least 5 tokens (seq 4 + 1), got 0 in 0 documents; "+
		"data.split holds out about one example in 1000, where equal examples count once: make more of them, or a task with more different ones")
}

// TestEverySettingOfATaskChangesIt: no setting of a task is ignored.
func TestEverySettingOfATaskChangesIt(t *testing.T) {
	for _, task := range tasks() {
		before, tagged := loadTask(t, task, 1).Fingerprint, 0
		for _, f := range reflect.VisibleFields(reflect.TypeOf(task)) {
			if f.Tag.Get("yaml") == "" {
				continue
			}
			changed := reflect.New(reflect.TypeOf(task)).Elem()
			changed.Set(reflect.ValueOf(task))
			switch v := changed.FieldByIndex(f.Index); v.Kind() {
			case reflect.Int:
				v.SetInt(v.Int() + 1)
			case reflect.Uint64:
				v.SetUint(v.Uint() + 1)
			default:
				v.SetFloat(v.Float() + 2)
			}
			tagged++
			assert.NotEqual(t, before, loadTask(t, changed.Interface().(Task), 1).Fingerprint, "%s.%s", task.Name(), f.Name)
		}
		require.Greater(t, tagged, 3)
	}
}

// TestMQAR: each key is asked for once after the pairs, its value is the answer, and small powers
// ask sooner.
func TestMQAR(t *testing.T) {
	means := map[float64]float64{}
	for _, power := range []float64{0.01, 1} {
		task := MQAR{Generated{Number: 400}, 16, 48, 4, power}
		inputs, targets := examplesOf(t, loadTask(t, task, 1).Train.Tokens)
		sum := 0
		for i, in := range inputs {
			pairs := map[int32]int32{}
			for k := 1; k < 9; k += 2 {
				require.Less(t, in[k], int32(8))
				pairs[in[k]] = in[k+1]
			}
			require.Len(t, pairs, 4)
			for at, value := range targets[i] {
				if value == ignoredTarget {
					continue
				}
				require.GreaterOrEqual(t, at, 9)
				require.Equal(t, pairs[in[at]], value)
				require.Equal(t, value, in[at+1])
				delete(pairs, in[at])
				sum += at
			}
			require.Empty(t, pairs)
		}
		means[power] = float64(sum) / float64(4*len(inputs))
	}
	assert.InDelta(t, 9+19, means[1], 1, "uniform over 20 places of two tokens")
	assert.Less(t, means[0.01], means[1]-5)
}

// TestMemorization: a key has the same value in all examples, of training and validation, which
// inputs never show.
func TestMemorization(t *testing.T) {
	task, values := tasks()[1], map[int32]int32{}
	c := loadTask(t, task, 1)
	for _, stream := range []Stream{c.Train, c.Val} {
		inputs, targets := examplesOf(t, stream.Tokens)
		for i, in := range inputs {
			require.Len(t, answers(targets[i]), 6)
			for at, value := range targets[i] {
				if value == ignoredTarget {
					continue
				}
				require.Equal(t, int32(12), in[at+1], "blank")
				if known, ok := values[in[at]]; ok {
					require.Equal(t, known, value)
				}
				values[in[at]] = value
			}
		}
	}
	require.Len(t, values, 5)
}

// TestBottleneckCopy: what follows the separator are the tokens before it.
func TestBottleneckCopy(t *testing.T) {
	c := loadTask(t, tasks()[2], 1)
	inputs, targets := examplesOf(t, c.Val.Tokens)
	for i, in := range inputs {
		require.Equal(t, []int32{10, 9}, []int32{in[0], in[6]}, "BOS and separator")
		require.Equal(t, in[1:6], in[7:])
		require.Equal(t, in[1:6], answers(targets[i]))
		require.Equal(t, in[1:6], targets[i][6:11])
	}
}

// TestTaskTokens: text, answers and rows of a task are what batches, scores and tokenizer take.
func TestTaskTokens(t *testing.T) {
	for _, task := range tasks() {
		c := loadTask(t, task, 1)
		length := task.Examples().Length
		b, err := NewBatcher(c.Train.Tokens, 3, 2*length, 1)
		require.NoError(t, err)
		in, out := make([]int32, 6*length), make([]int32, 6*length)
		for range 5 {
			require.NoError(t, b.Next(in, out))
			for i, id := range in {
				require.Equal(t, i%length == 0, id == c.Tokenizer.BOS(), "rows begin with an example")
			}
		}
		whole := c.Val.Tokens.Slice(0, length)
		text := c.Tokenizer.Decode(whole.IDs())
		assert.Equal(t, whole.IDs()[1:], c.Tokenizer.Encode(nil, text))
		assert.Equal(t, "\uFFFD", c.Tokenizer.Decode([]int32{int32(c.Tokenizer.Vocab())}))
		_, targets := examplesOf(t, c.Val.Tokens)
		assert.Equal(t, len(answers(targets[0])), whole.Targets())
		assert.EqualValues(t, len(c.Tokenizer.Decode(answers(targets[0]))), TextBytes(c.Tokenizer, whole))
	}
}

func TestTasksRefuse(t *testing.T) {
	for want, o := range map[string]Options{
		"data.path: want none for source mqar, got [x]":                                                                     {Source: tasks()[0], Paths: []string{"x"}},
		"data.split: want hash or hash/N for source bottleneck-copy, which keeps equal examples on one side, got tail/3":    {Source: tasks()[2], Split: "tail/3"},
		"data.source.pairs: want at most 4, for 5 keys and 20 tokens, of which each pair takes four after the first, got 5": {Source: MQAR{Vocabulary: 10, Length: 20, Pairs: 5}},
	} {
		_, err := Load(context.Background(), o)
		require.EqualError(t, err, want, strings.SplitN(want, ":", 2)[0])
	}
}
