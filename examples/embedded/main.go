// Command embedded completes Go code with a model of 1 MB that is inside the program: one file to
// copy, which needs no network, no GPU and no other file.
//
//	go run ./examples/embedded 'if err != '
//	go build ./examples/embedded && ./embedded -lines 6 'func '
//
// The model is a Residual Matrix Transformer of 0.49 million parameters that has read 1.9 million
// bytes of Go's standard library, and predicts what it has not read at 1.95 bits per byte: it knows
// Go's words and habits, not what a program means. It was trained on one core by
//
//	GOMAXPROCS=1 go run ./cmd/train -config examples/embedded/model.yaml
//	go run ./cmd/residua convert -checkpoint runs/model -format residua -type bf16 -replace -out examples/embedded/model.safetensors
package main

import (
	"context"
	"embed"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"

	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/pretrained"
)

//go:embed model.safetensors
var files embed.FS

func main() {
	log.SetFlags(0)
	lines := flag.Int("lines", 1, "complete `N` lines")
	temperature := flag.Float64("temperature", 0, "draw the text at temperature `T`; 0: the likeliest")
	seed := flag.Uint64("seed", 0, "of the draws: `N`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	m, err := pretrained.OpenFS(files, "model.safetensors")
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	code := strings.Join(flag.Args(), " ")
	for range *lines {
		line, err := complete(ctx, m, code, generate.Request{Temperature: *temperature, Seed: *seed})
		if err != nil {
			log.Fatal(err)
		}
		code += line + "\n"
		*seed++
	}
	fmt.Print(code)
}

// beginning is put before code that is not a whole file: in the files that the model has read, code
// comes after a package clause and imports.
const beginning = "package main\n\nimport \"fmt\"\n\n"

// complete returns the rest of the last line of some code, which may be longer than the model's
// window.
func complete(ctx context.Context, m *pretrained.Model, code string, options generate.Request) (string, error) {
	if !strings.HasPrefix(code, "package ") {
		code = beginning + code
	}
	options.Tokens, options.Stop, options.Slide = 100, []string{"\n"}, true
	return m.Generate(ctx, code, options)
}
