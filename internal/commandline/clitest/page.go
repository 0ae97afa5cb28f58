package clitest

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Block is a code block in a Markdown page.
type Block struct{ Language, Text string }

// Blocks returns the code blocks of a page, in order.
func Blocks(t *testing.T, path string) []Block {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var blocks []Block
	for _, b := range regexp.MustCompile("(?s)```(\\w+)\n(.*?)```").FindAllStringSubmatch(strings.ReplaceAll(string(text), "\r\n", "\n"), -1) {
		blocks = append(blocks, Block{b[1], b[2]})
	}
	require.NotEmpty(t, blocks)
	return blocks
}

// Words splits a command line into words and removes the quotes around a word.
func Words(line string) []string {
	var words []string
	for _, word := range regexp.MustCompile(`'[^']*'|\S+`).FindAllString(line, -1) {
		words = append(words, strings.Trim(word, "'"))
	}
	return words
}
