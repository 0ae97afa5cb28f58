// Package serve holds the command that answers HTTP requests with a trained model.
package serve

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/generate/chat"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
	"github.com/residua-go/residua/serve"
	"github.com/residua-go/residua/serve/explore"
)

// tokenVariable is an environment variable for the token, which, unlike a flag, does not show in a
// list of processes.
const tokenVariable = "RESIDUA_TOKEN"

// Command returns the command that serves models of the designs in a zoo.
func Command(zoo models.Zoo) commandline.Command {
	c := &call{zoo: zoo}
	return commandline.Command{
		Name:    "serve",
		Summary: "answer HTTP requests with a trained model, by OpenAI's API for completions",
		Example: `
			train -config quickstart    # makes runs/quickstart
			serve -checkpoint runs/quickstart
			serve -checkpoint runs/quickstart -checkpoint runs/quickstart-transformer    # a request's "model" chooses
			serve -checkpoint runs/quickstart -listen :8080 -token SECRET    # to other machines, which need the token`,
		Notes: `
			curl http://127.0.0.1:8080/v1/completions -d '{"prompt": "func ", "max_tokens": 64}' asks it.
			A token is read from ` + tokenVariable + ` in the environment.
			/ is the live explorer, a page that shows what the model does (docs/explorer.md); docs/serve.md has the API.

			An interrupt stops the server: it takes no more requests, and what runs has -stop-time to finish.
			A second one ends it at once.`,
		Settings: c,
		Run:      c.run,
	}
}

// call holds the arguments of a call.
type call struct {
	zoo   models.Zoo
	Paths []string `yaml:"checkpoint" alone:"[CHECKPOINT...]"`
	Base  string   `yaml:"base" help:"if the first -checkpoint holds adapters: the model in <PATH>, which they change; without, the one they were trained on"`
	Names []string `yaml:"name" help:"serve the model by the name <NAME>; may be repeated, as -checkpoint; without, the name of its file or folder"`
	commandline.Place
	Listen string `yaml:"listen" default:"127.0.0.1:8080"`
	Open   bool   `yaml:"open" help:"answer everybody who reaches the address that -listen names, without a token"`
	Window int    `yaml:"window" help:"let the model see the last <N> tokens at most; 0: its training length, with ALiBi 4 times that"`
	Rows   int    `yaml:"rows" help:"continue <N> texts at a time, each with keys and values of its own; 0: 8, fewer where the memory has no room for them"`
	Slide  bool   `yaml:"slide" help:"let texts go on beyond the window, of which the model then sees the end, instead of refusing them"`
	commandline.Special
	serve.Options
}

// Help returns the help texts that are too long for tags, by key.
func (call) Help() map[string]string {
	return map[string]string{
		"checkpoint": "serve the model of <PATH>: a run folder (its newest checkpoint), a step folder, a .safetensors file, zoo:NAME (a " +
			"trained model that comes with Residua), or a folder of another program's, as of Hugging Face's (convert -h lists " +
			"them); may be repeated: the first one answers requests that name none",
		"listen": "listen on <ADDRESS>, HOST:PORT; :8080 is all of the machine's addresses, port 0 one that is free; needs a token, or " +
			"-open, where other machines reach the address",
	}
}

// check refuses, before the model is read, all that can be refused without it. It returns the
// address to listen on.
func (c *call) check() (*net.TCPAddr, error) {
	if len(c.Names) > max(1, len(c.Paths)) {
		return nil, commandline.Usagef("-name: want at most one for each -checkpoint, %d, got %d", len(c.Paths), len(c.Names))
	}
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{{"-request-time", c.RequestTime}, {"-stop-time", c.StopTime}} {
		if d.value <= 0 {
			return nil, commandline.Usagef("%s: want above 0, such as 30s, got %v", d.flag, d.value)
		}
	}
	c.Token = strings.TrimSpace(cmp.Or(c.Token, os.Getenv(tokenVariable))) // a header's value has no space at its ends
	address, err := net.ResolveTCPAddr("tcp", c.Listen)
	switch {
	case err != nil:
		return nil, commandline.Flag("listen", err)
	case c.Open && c.Token != "":
		return nil, commandline.Usagef("-open: want no token with it, got one: leave out -open, or -token and %s", tokenVariable)
	case !c.Open && c.Token == "" && !address.IP.IsLoopback():
		return nil, commandline.Usagef("-listen %s: want a loopback address such as 127.0.0.1:8080, or a token (-token, or %s), got an address that other "+
			"machines may reach; "+
			"-open answers everybody who reaches it", c.Listen, tokenVariable)
	}
	return address, nil
}

func (c *call) run(ctx context.Context, out commandline.Output) error {
	address, err := c.check()
	if err != nil {
		return err
	}
	c.Log = out.Warn
	served, end, err := c.open(out)
	defer end()
	if err != nil {
		return err
	}
	server, err := serve.New(served, c.Options)
	if err != nil {
		return commandline.Usage(errors.WithMessage(err, "-name"))
	}
	l, err := net.ListenTCP("tcp", address)
	if err != nil {
		return commandline.Flag("listen", err)
	}
	if c.Token == "" && !address.IP.IsLoopback() {
		out.Warn(fmt.Sprintf("-open: everybody who reaches this address can use the model: %s", l.Addr()))
	}
	if err := out.Print(fmt.Sprintf("serving %s at http://%s\n", namesOf(served), l.Addr())); err != nil {
		return err
	}
	return server.Serve(ctx, l)
}

// open opens all models, and adds the explorer page of the first one to the server's options. end
// closes them. If one cannot be opened, open closes the others.
func (c *call) open(out commandline.Output) (served []serve.Model, end func(), err error) {
	var closers []func()
	end = func() {
		for _, f := range slices.Backward(closers) {
			f()
		}
	}
	if len(c.Paths) == 0 {
		c.Paths = []string{""} // OpenIDs refuses it
	}
	for i := range c.Paths {
		m := commandline.Model{Checkpoint: commandline.Checkpoint{Zoo: c.zoo, Path: c.Paths[i]}, Place: c.Place, ReadSpecial: c.Special.Special}
		if i == 0 {
			m.Base = c.Base
		}
		p, tokenizer, err := m.OpenIDs(out)
		if err != nil {
			return nil, end, err
		}
		const queue = math.MaxInt32 // -requests is the limit
		g, err := p.Generator(generate.Options{Threads: m.Threads, Device: m.Device, Precision: m.Precision, Window: c.Window, Rows: c.Rows, Queue: queue})
		if err != nil {
			return nil, end, commandline.Usage(commandline.ByFlag(err))
		}
		closers = append(closers, g.Close)
		name := c.modelName(i)
		chats, err := chatOf(p, tokenizer)
		if err != nil {
			return nil, end, commandline.Usage(err)
		}
		served = append(served, serve.Model{
			Chat: chats,
			Name: name, Generator: g, Parallel: g.Rows(), Tokenizer: tokenizer, Vocab: p.Spec.Vocab, Window: g.Window(), Slide: c.Slide, Created: created(p),
		})
		if i > 0 || m.Device.OnGPU() { // the page reads and changes activations by programs on the CPU
			continue
		}
		e, err := explore.New(p, explore.Options{Name: name, Threads: m.Threads, Time: min(2*time.Minute, c.RequestTime)})
		if err != nil {
			return nil, end, err
		}
		closers = append(closers, e.Close)
		c.Page, c.Handlers = e.Page(), e.Handlers()
	}
	return served, end, nil
}

// chatOf returns the function that makes a prompt of a conversation by the model's chat template,
// nil if it has none.
func chatOf(p *pretrained.Model, tokenizer data.Tokenizer) (serve.Chat, error) {
	template, err := p.ChatTemplate()
	if err != nil || template == nil || tokenizer == nil {
		return nil, err
	}
	renderer, err := chat.Self()
	return func(ctx context.Context, c serve.ChatPrompt) ([]int32, error) {
		return renderer.Prompt(ctx, chat.Request{Template: template.Text, Tokens: template.Tokens, Messages: c.Messages, Tools: c.Tools, Generation: true,
			Now: time.Now()}, tokenizer)
	}, err
}

// modelName returns model i's -name, or the name of its file or folder.
func (c *call) modelName(i int) string {
	if i < len(c.Names) && c.Names[i] != "" {
		return c.Names[i]
	}
	path, err := filepath.Abs(c.Paths[i])
	if err != nil {
		path = c.Paths[i]
	}
	return strings.TrimSuffix(filepath.Base(path), ".safetensors")
}

func namesOf(served []serve.Model) string {
	var names []string
	for _, m := range served {
		names = append(names, m.Name)
	}
	return strings.Join(names, ", ")
}

// created returns when the model's file was written.
func created(p *pretrained.Model) time.Time {
	if info, err := os.Stat(p.Source.ModelPath); err == nil {
		return info.ModTime()
	}
	return time.Now()
}
