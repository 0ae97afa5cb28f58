package fast

import (
	"go/token"

	"github.com/cosmos72/gomacro/base"
	"github.com/cosmos72/gomacro/base/reflect"
	xr "github.com/cosmos72/gomacro/xreflect"
)

// Failure describes the end of code that has panicked.
type Failure struct {
	Cause any         // the value of the panic
	Calls []token.Pos // the statement that failed, then the calls that led to it
}

// Interrupted tells whether Interp.Interrupt ended the code.
func (f *Failure) Interrupted() bool { return f.Cause == base.SigInterrupt }

// RunCell runs compiled code as RunExpr does. Instead of panicking it returns where the code
// failed. If stopped returns true once Interp.Interrupt can end the code, the code does not start.
func (ir *Interp) RunCell(e *Expr, stopped func() bool) (values []xr.Value, types []xr.Type, failure *Failure) {
	if e == nil {
		return nil, nil, nil
	}
	env := ir.PrepareEnv()
	if stopped() {
		return nil, nil, &Failure{Cause: base.SigInterrupt}
	}
	if e.Untyped() {
		e.ConstTo(e.DefaultType())
	}
	run := env.Run
	run.applyDebugOp(DebugOpContinue)
	run.at, run.failed = token.NoPos, nil
	defer run.setCurrEnv(run.setCurrEnv(env))
	defer func() {
		if cause := recover(); cause != nil {
			run.noteFailure()
			values, types, failure = nil, nil, &Failure{cause, run.failed}
		}
	}()
	v, vs := e.AsXV(COptKeepUntyped)(env)
	run.stopIfInterrupted()
	return reflect.PackValues(v, vs), reflect.PackTypes(e.Type, e.Types), nil
}

// noteFailure records where the code is, unless it is panicking already, from another place.
func (run *Run) noteFailure() {
	if run.failed != nil {
		return
	}
	for env := run.CurrEnv; env != nil; env = env.caller() {
		if pos := env.position(); pos != token.NoPos {
			run.failed = append(run.failed, pos)
		}
	}
}

// position returns the position of the statement that env has reached.
func (env *Env) position() token.Pos {
	if env.IP < len(env.DebugPos) {
		return env.DebugPos[env.IP]
	}
	return env.Run.at // an expression at package level
}

// caller returns the environment from which the function of env was called; nil at package level.
func (env *Env) caller() *Env {
	for env.Caller == nil && env.Outer != nil {
		env = env.Outer
	}
	return env.Caller
}

// markPosition returns code that records which statement at package level comes next, and checks
// for an interrupt before it.
func markPosition(pos token.Pos) *Expr {
	return expr0(func(env *Env) {
		env.Run.at = pos
		env.IP, env.DebugPos = 0, nil
		env.Run.stopIfInterrupted()
	})
}

// stopIfInterrupted panics if there is an interrupt.
func (run *Run) stopIfInterrupted() {
	if sig := run.Signals.Async; sig != base.SigNone {
		run.applyAsyncSignal(sig)
	}
}
