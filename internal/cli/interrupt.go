package cli

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// interrupts is who gets a process's interrupts: OnInterrupt's handler while there is one,
// the command's context otherwise.
type interrupts struct {
	mu     sync.Mutex
	handle func()
}

type interruptsKey struct{}

// OnInterrupt lets handle, which is called on a goroutine of its own, take each interrupt
// (Ctrl-C) in the place of the context that a command's Run was called with, until restore is
// called. The context still ends at the other signals.
func OnInterrupt(ctx context.Context, handle func()) (restore func()) {
	i, ok := ctx.Value(interruptsKey{}).(*interrupts)
	if !ok { // run inside another process, such as a test's
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

// take hands an interrupt over; ok is false where nobody takes it.
func (i *interrupts) take() (ok bool) {
	i.mu.Lock()
	handle := i.handle
	i.mu.Unlock()
	if handle != nil {
		handle()
	}
	return handle != nil
}

// withSignals returns a context that ends at the first interrupt that no handler takes, at SIGTERM, or when the terminal is
// closed, unless the process was told to ignore that (nohup). From then on an interrupt or SIGTERM does what it does by default; that
// the terminal is closed may be said by both the kernel and the shell, so a second time does not kill what the first one began to save.
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
