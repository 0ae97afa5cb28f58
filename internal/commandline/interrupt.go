package commandline

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// interrupts passes on a process's interrupts: to OnInterrupt's handler while there is one,
// otherwise to the command's context.
type interrupts struct {
	mu     sync.Mutex
	handle func()
}

type interruptsKey struct{}

// OnInterrupt calls handle, on a goroutine of its own, for each interrupt (Ctrl-C), until restore
// is called. Meanwhile interrupts do not end the context that a command's Run was called with; the
// other signals still do.
func OnInterrupt(ctx context.Context, handle func()) (restore func()) {
	i, ok := ctx.Value(interruptsKey{}).(*interrupts)
	if !ok { // the command runs inside another process, such as a test
		return func() {}
	}
	i.set(handle)
	return func() { i.set(nil) }
}

func (i *interrupts) set(handle func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.handle = handle
}

// take passes on an interrupt; ok is false if there is no handler.
func (i *interrupts) take() (ok bool) {
	i.mu.Lock()
	handle := i.handle
	i.mu.Unlock()
	if handle != nil {
		handle()
	}
	return handle != nil
}

// withSignals returns a context that ends at the first interrupt without a handler, at SIGTERM, or
// when the terminal is closed, unless the process was told to ignore that (nohup). After that, an
// interrupt or SIGTERM does what it does by default. Kernel and shell may both report that the
// terminal was closed, so the second report does not kill a process that the first one made save
// its work.
func withSignals(ctx context.Context) (context.Context, func()) {
	i := &interrupts{}
	ctx, cancel := context.WithCancel(context.WithValue(ctx, interruptsKey{}, i))
	signals, hangUps := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(hangUps, syscall.SIGHUP)
	}
	go func() {
		defer signal.Stop(signals)
		for ctx.Err() == nil {
			select {
			case s := <-signals:
				if s != os.Interrupt || !i.take() {
					cancel()
				}
			case <-hangUps:
				cancel()
			case <-ctx.Done():
			}
		}
	}()
	return ctx, func() {
		cancel()
		signal.Stop(hangUps)
	}
}
