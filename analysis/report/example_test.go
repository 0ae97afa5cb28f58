package report_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/analysis/report"
	"github.com/residua-go/residua/pretrained"
)

// attribute is what docs/interpretability.md shows.
func attribute(ctx context.Context, path, folder string) error {
	opened, err := pretrained.Open(path) // a run, a step folder, a model file, or a Hugging Face folder
	if err != nil {
		return err
	}
	m, err := report.Of(opened)
	if err != nil {
		return err
	}
	r, err := report.Run(ctx, m, report.Attribute{Prompt: report.Prompt{Text: "if err != "}})
	if err != nil {
		return err
	}
	fmt.Println(r.Parts[0].Heading+":", r.Parts[0].Table.Rows[0][0]) // fmt.Print(r) is what a terminal shows
	return r.Write(folder)                                           // a page, pictures, tables
}

// A report of a model that is read from a file, and its page.
func ExampleOf() {
	folder, err := os.MkdirTemp("", "attribute")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	if err := attribute(context.Background(), "../../examples/embedded/model.safetensors", folder); err != nil {
		log.Fatal(err)
	}
	// Output: What the model says: n
}

// TestDocsHaveTheExample: the example in the docs is the one that runs.
func TestDocsHaveTheExample(t *testing.T) {
	source, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	_, body, found := strings.Cut(string(source), "folder string) error {\n")
	require.True(t, found)
	body, _, _ = strings.Cut(body, "\n}\n")
	docs, err := os.ReadFile("../../docs/interpretability.md")
	require.NoError(t, err)
	assert.Contains(t, string(docs), "```go\n"+strings.ReplaceAll(body, "\n\t", "\n")[1:]+"\n```\n")
}
